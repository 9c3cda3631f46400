//! All nodes: one first, then the others, and no further one once a node did not come through.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crosstie_model::{
    PlanStep,
    change::{ApplyRequest, ChangeRequest},
};
use crosstie_reach::{FanOutItemError, NodeStage, end_if_interrupted, fan_out};
use crosstie_report::change::{NodeChange, NodeChangeOutcome};

use super::{
    node_calls::ApplyTimeouts,
    transaction::{ChangeTarget, ReplanIfStale, begin},
};
use crate::FleetRound;

/// Nodes that are changed at once: few, so that a fault of the plan's meets few.
const MAX_CONCURRENT_NODES: usize = 8;

/// For packages to be installed, which is done before the guard is armed.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(600);

/// One node's part.
pub(super) struct NodeRollout {
    pub(super) subject: ChangeTarget,
    pub(super) order: ApplyRequest,
    pub(super) again: Box<ReplanIfStale>,
}

/// Changes every node, `canary` first, and says what became of each, in the jobs' order.
pub(super) fn roll_out(
    jobs: Vec<NodeRollout>,
    canary: Option<usize>,
    limits: ApplyTimeouts,
    round: &Arc<FleetRound>,
) -> Vec<NodeChange> {
    let names: Vec<String> = jobs.iter().map(|job| job.subject.node.clone()).collect();
    let stages = rollout_order(&jobs, canary);
    let jobs: Vec<Arc<NodeRollout>> = jobs.into_iter().map(Arc::new).collect();
    let mut changes: Vec<Option<NodeChange>> = jobs.iter().map(|_| None).collect();
    // The first node that did not come through, as a reason.
    let stop: Arc<Mutex<Option<String>>> = Arc::default();
    for index in 0..jobs.len() {
        round.stage(index, NodeStage::Waiting);
    }
    for stage in stages {
        let items: Vec<(usize, Arc<NodeRollout>)> = stage
            .iter()
            .map(|index| (*index, Arc::clone(&jobs[*index])))
            .collect();
        let last = items
            .iter()
            .map(|(_, job)| rollout_timeout(job, limits))
            .max();
        let (stop, round) = (Arc::clone(&stop), Arc::clone(round));
        let results = fan_out(
            items,
            MAX_CONCURRENT_NODES,
            last.unwrap_or_default(),
            move |_, (index, job)| {
                let change =
                    unless_stopped(job, &stop, limits, &|stage| round.stage(*index, stage));
                round.done(*index);
                change
            },
        );
        end_if_interrupted();
        for (index, result) in stage.into_iter().zip(results) {
            let late = |unfinished: FanOutItemError| {
                NodeChange::new(&names[index], NodeChangeOutcome::Failed)
                    .with_reason(unfinished.to_string())
            };
            changes[index] = Some(result.unwrap_or_else(late));
        }
    }
    let changes = changes.into_iter().zip(&names);
    changes
        .map(|(change, name)| {
            change.unwrap_or_else(|| NodeChange::new(name, NodeChangeOutcome::NotBegun))
        })
        .collect()
}

/// Those with nothing to do, then a canary, then the others. This machine last: the others are its witnesses, and it is
/// where we stand.
fn rollout_order(jobs: &[NodeRollout], canary: Option<usize>) -> Vec<Vec<usize>> {
    let is_here = |index: usize| jobs[index].subject.seen_by.is_some();
    let is_idle = |index: &usize| jobs[*index].order.plan.steps.is_empty();
    let (idle, working): (Vec<usize>, Vec<usize>) = (0..jobs.len()).partition(is_idle);
    let canary = canary.filter(|index| !is_idle(index));
    let mut elsewhere = working.iter().filter(|index| !is_here(**index));
    let first = canary.or_else(|| elsewhere.next().copied());
    let others = working.into_iter().filter(|index| Some(*index) != first);
    let (here, elsewhere) = others.partition(|index| is_here(*index));
    vec![idle, first.into_iter().collect(), elsewhere, here]
}

/// Beyond all that is foreseen.
fn rollout_timeout(job: &NodeRollout, limits: ApplyTimeouts) -> Duration {
    deadline(job, limits) + limits.settle + (limits.connect + limits.answer + limits.rollback) * 4
}

/// For the change itself, and the rollback where it fails.
fn deadline(job: &NodeRollout, limits: ApplyTimeouts) -> Duration {
    let steps = &job.order.plan.steps;
    let installs = steps.iter().any(PlanStep::is_before_guard);
    let install = if installs {
        INSTALL_TIMEOUT
    } else {
        Duration::ZERO
    };
    install + Duration::from_secs(job.order.guard_seconds.into()) + limits.rollback
}

fn unless_stopped(
    job: &NodeRollout,
    stop: &Mutex<Option<String>>,
    limits: ApplyTimeouts,
    progress: &dyn Fn(NodeStage),
) -> NodeChange {
    let reason = || stop.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(why) = reason().as_ref() {
        return NodeChange::new(&job.subject.node, NodeChangeOutcome::NotBegun)
            .with_reason(why.as_str());
    }
    let change = change_node(job, limits, progress);
    if !change.outcome.is_fine() {
        let why = || format!("{} did not come through", change.node);
        reason().get_or_insert_with(why);
    }
    change
}

/// One node, from its plan to its confirmation.
fn change_node(
    job: &NodeRollout,
    limits: ApplyTimeouts,
    progress: &dyn Fn(NodeStage),
) -> NodeChange {
    let ask = ChangeRequest::Apply(Box::new(job.order.clone()));
    let deadline = deadline(job, limits);
    let begun = begin(&job.subject, &ask, &job.again, deadline, limits, progress);
    let mut transaction = match begun {
        Ok(transaction) => transaction,
        Err(change) => return change,
    };
    match transaction.check(progress) {
        Ok(()) => transaction.confirm(progress),
        Err(why) => transaction.roll_back(&why, progress),
    }
}
