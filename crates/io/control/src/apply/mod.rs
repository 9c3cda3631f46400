//! Changes of nodes: `apply`, and what belongs to it: rollback, uninstall, status, try.
//!
//! ```text
//! snapshot ─▶ plan ─▶ question ─▶ canary ─▶ the others ─▶ this machine
//!                                 each: probe ─▶ change ─▶ new connection ─▶ probe ─▶ confirm, or roll back
//! ```

mod change_targets;
mod choose_run;
mod node_calls;
mod rollback;
mod rollout;
mod run_id;
mod status;
#[cfg(test)]
mod tests;
mod transaction;
mod trial;
mod unreachable;

use crosstie_agent::CallError;
use crosstie_model::{
    ClusterPlan, ClusterSpec, Facts, NodePlan,
    change::{ApplyRequest, ChangeError, ChangeRequest},
};
use crosstie_report::{
    change::{ApplyReport, NodeChange, NodeChangeOutcome},
    suggested_command::{CommandContext, CommandVerb},
};

use crate::{
    Consent, ConsentError, ConsentQuestion, ControlEvent, Fleet, FleetSnapshot, NoRandomNumbers,
    NodeError, NodeFacts, RequestedTargets, ResolvedTargets, SnapshotError, TargetNodes,
    TargetsError,
    plan::{PlanError, find, plan_with_errors},
};
use change_targets::ChangeTargets;
use rollout::{NodeRollout, roll_out};
use transaction::ReplanIfStale;

pub use choose_run::ChooseRunError;
pub use node_calls::ApplyTimeouts;
pub use rollback::{RollbackError, RollbackOptions, rollback, uninstall};
pub use run_id::new_run_id;
pub use status::status;
pub(crate) use status::status_of;
pub use trial::{TrialOptions, TryCommandError, try_command};

/// What whoever presses Ctrl-C is told.
fn interrupt_message(offer: &CommandContext) -> String {
    format!(
        "crosstie: interrupted; nodes that were not confirmed yet roll back by themselves, and those that were are changed.\n  \
         {}    # tells which\n  {}    # rolls it back",
        offer.command(CommandVerb::Status),
        offer.command(CommandVerb::Rollback),
    )
}

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Consent(#[from] ConsentError),
    #[error(transparent)]
    NoRandomNumbers(#[from] NoRandomNumbers),
    #[error("--canary {name}: it is not among the nodes")]
    Canary { name: String },
    #[error("{node} was planned for and not read; this is a bug, please report it")]
    NotRead { node: String },
}

/// How a plan is carried out.
#[derive(Debug, Clone)]
pub struct ApplyOptions {
    /// Seconds until a node rolls back by itself.
    pub guard: u32,
    /// Also where programs use RDMA on a port that changes.
    pub force: bool,
    /// The node that goes first, by its host name or as it was called.
    pub canary: Option<String>,
}

/// The nodes of a cluster, planned, approved of and changed.
pub fn apply(
    targets: &RequestedTargets,
    options: &ApplyOptions,
    consent: &Consent,
) -> Result<ApplyReport, ApplyError> {
    let ResolvedTargets { spec, file, nodes } = find(targets)?;
    let TargetNodes::Live(fleet) = nodes else {
        return Err(TargetsError::CapturesUnchanged.into());
    };
    consent.is_possible(APPLY_PURPOSE)?;
    let nodes = FleetSnapshot::take(&fleet).as_root(no_root)?;
    let plan = plan_with_errors(&spec, &nodes, file.as_deref())?;
    let options = ApplyOptions {
        canary: host_name_of(options.canary.as_deref(), &nodes)?,
        ..options.clone()
    };
    fleet
        .options()
        .observer
        .observe(ControlEvent::Planned(&plan));
    ask_approval(&plan, options.guard, consent)?;
    change_nodes(&plan, &new_run_id()?, &spec, &fleet, &nodes, &options)
}

/// The one question. Where there is nothing to do, or nothing may be done, nobody is asked.
pub(crate) fn ask_approval(
    plan: &ClusterPlan,
    guard: u32,
    consent: &Consent,
) -> Result<(), ConsentError> {
    if !plan.has_work() || plan.is_refused() {
        return Ok(());
    }
    let working = plan.nodes.iter().filter(|node| !node.steps.is_empty());
    let names: Vec<&str> = working.map(|node| node.node.as_str()).collect();
    let (each, ask) = match names.as_slice() {
        [only] => ("It", format!("Change {only}?")),
        [a, b] => ("Each", format!("Change {a} and {b}?")),
        many => ("Each", format!("Change {} nodes?", many.len())),
    };
    let text = format!("{each} rolls back by itself unless it is reached again within {guard} s.");
    let question = ConsentQuestion {
        text: &text,
        ask: &ask,
        plan: Some(plan),
        until: None,
    };
    consent.ask(&question, APPLY_PURPOSE)
}

/// What `--yes` does without a question.
pub(crate) const APPLY_PURPOSE: &str = "change nodes";

/// Every node of the plan, and what became of it. `run` is what the changes of all nodes share.
pub(crate) fn change_nodes(
    plan: &ClusterPlan,
    run: &str,
    spec: &ClusterSpec,
    fleet: &Fleet,
    nodes: &[NodeFacts],
    options: &ApplyOptions,
) -> Result<ApplyReport, ApplyError> {
    let before = plan.nodes.iter().map(|node| initial_report(node, plan));
    let mut changes = ApplyReport::new(before.collect());
    if plan.is_refused() {
        return Ok(changes);
    }
    let subjects = ChangeTargets::new(Some(spec), fleet, nodes);
    let jobs = plan.nodes.iter().map(|node| {
        let order = ApplyRequest {
            run: run.to_owned(),
            cluster: plan.cluster.clone(),
            plan: node.clone(),
            guard_seconds: options.guard,
            force: options.force,
        };
        node_rollout(order, spec, nodes, &subjects)
    });
    let jobs = jobs.collect::<Result<Vec<NodeRollout>, ApplyError>>()?;
    let canary = options.canary.as_deref();
    let canary = plan
        .nodes
        .iter()
        .position(|node| Some(node.node.as_str()) == canary);
    changes.run = plan.has_work().then(|| run.to_owned());
    for done in roll_out_with_progress(fleet, jobs, canary) {
        let mut nodes = changes.nodes.iter_mut();
        if let Some(change) = nodes.find(|change| change.node == done.node) {
            *change = done;
        }
    }
    Ok(changes)
}

pub fn no_root(why: String) -> NodeError {
    CallError::Call(ChangeError::NotRoot { why }).into()
}

/// What there is to say of a node before anything is done.
fn initial_report(node: &NodePlan, plan: &ClusterPlan) -> NodeChange {
    if !node.refusals.is_empty() {
        let why: Vec<String> = node.refusals.iter().map(ToString::to_string).collect();
        return NodeChange::new(&node.node, NodeChangeOutcome::Refused).with_reason(why.join("; "));
    }
    if node.steps.is_empty() {
        return NodeChange::new(&node.node, NodeChangeOutcome::Unchanged);
    }
    let change = NodeChange::new(&node.node, NodeChangeOutcome::NotBegun);
    if plan.is_refused() {
        return change
            .with_reason("another node's plan is refused; name the others to go without it");
    }
    change
}

/// The host name of the node that a person calls so.
fn host_name_of(name: Option<&str>, nodes: &[NodeFacts]) -> Result<Option<String>, ApplyError> {
    let Some(name) = name else {
        return Ok(None);
    };
    let mut nodes = nodes.iter();
    match nodes.find(|node| node.facts.host.name == name || node.destination == name) {
        Some(node) => Ok(Some(node.facts.host.name.clone())),
        None => Err(ApplyError::Canary {
            name: name.to_owned(),
        }),
    }
}

fn node_rollout(
    order: ApplyRequest,
    spec: &ClusterSpec,
    nodes: &[NodeFacts],
    subjects: &ChangeTargets,
) -> Result<NodeRollout, ApplyError> {
    let name = &order.plan.node;
    let index = nodes.iter().position(|one| one.facts.host.name == *name);
    let index = index.ok_or_else(|| ApplyError::NotRead { node: name.clone() })?;
    let facts: Vec<Facts> = nodes.iter().map(|one| (*one.facts).clone()).collect();
    let subject = subjects.subject(index);
    Ok(NodeRollout {
        // One that has nothing to do is asked as well: it may be on its way to another state, by somebody's rollback.
        subject: if order.plan.steps.is_empty() {
            subject.without_probes()
        } else {
            subject
        },
        again: replanned_request(spec.clone(), facts, order.clone()),
        order,
    })
}

/// The same order for a node that is no longer as it was, where the plan that was approved of is still the plan.
fn replanned_request(
    spec: ClusterSpec,
    nodes: Vec<Facts>,
    order: ApplyRequest,
) -> Box<ReplanIfStale> {
    Box::new(move |now| {
        let mut nodes = nodes.clone();
        let name = &order.plan.node;
        let index = nodes.iter().position(|facts| facts.host.name == *name)?;
        nodes[index] = now.clone();
        let plan = crosstie_plan::plan(&spec, &nodes).ok()?;
        let plan = plan.nodes.into_iter().find(|node| node.node == *name)?;
        plan.is_same_work(&order.plan).then(|| {
            ChangeRequest::Apply(Box::new(ApplyRequest {
                plan,
                ..order.clone()
            }))
        })
    })
}

/// With the progress of each told.
fn roll_out_with_progress(
    fleet: &Fleet,
    jobs: Vec<NodeRollout>,
    canary: Option<usize>,
) -> Vec<NodeChange> {
    let options = fleet.options();
    if jobs.iter().any(|job| !job.order.plan.steps.is_empty()) {
        options.last_words(&interrupt_message(&options.offer));
    }
    let names: Vec<String> = jobs.iter().map(|job| job.subject.node.clone()).collect();
    let round = fleet.round(&names);
    let changes = roll_out(jobs, canary, ApplyTimeouts::default(), &round);
    round.end();
    options.last_words("");
    changes
}
