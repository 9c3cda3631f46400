//! `crosstie rollback` and `crosstie uninstall`.

use crosstie_model::{
    change::{ChangeError, ChangeReply, ChangeRequest},
    word,
};
use crosstie_reach::{NodeStage, Session};
use crosstie_report::{
    change::{ApplyReport, NodeChange, NodeChangeOutcome},
    rollback::{NodeRollbackPlan, RollbackPlan},
    suggested_command::{CommandContext, CommandVerb, SuggestedCommand},
};

use super::{
    choose_run::{ChooseRunError, choose_run},
    node_calls::{ApplyTimeouts, ChangeCallError, call_change, error_with_suggestion},
    status::statuses,
    transaction::remarks,
    unreachable,
};
use crate::{
    Connector, Consent, ConsentError, ConsentQuestion, ControlEvent, Fleet, RequestedTargets,
    TargetsError,
};

#[derive(Debug, thiserror::Error)]
pub enum RollbackError {
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Consent(#[from] ConsentError),
    #[error("{reason}; {status} shows those that there are")]
    UnknownRun { reason: String, status: String },
    #[error(transparent)]
    Choose(#[from] ChooseRunError),
}

#[derive(Debug)]
pub struct RollbackOptions {
    /// The run to roll back; the last one when left out.
    pub run: Option<String>,
    /// Also where somebody has edited a file since.
    pub force: bool,
}

/// What whoever presses Ctrl-C at the question is told.
const UNCHANGED_MESSAGE: &str = "crosstie: interrupted; nothing was rolled back";

/// What whoever presses Ctrl-C after it is told.
fn interrupt_message(offer: &CommandContext, finish: &SuggestedCommand<'_>) -> String {
    format!(
        "crosstie: interrupted; a node that had begun to roll back goes on by itself, others stay as they are.\n  \
         {}    # tells which\n  {finish}    # finishes it",
        offer.command(CommandVerb::Status),
    )
}

fn rollback_question(ask: &str) -> ConsentQuestion<'_> {
    ConsentQuestion {
        text: "",
        ask,
        plan: None,
        until: None,
    }
}

/// Rolls a run back wherever it is in force. All nodes are asked first.
pub fn rollback(
    targets: &RequestedTargets,
    options: &RollbackOptions,
    consent: &Consent,
) -> Result<ApplyReport, RollbackError> {
    const PURPOSE: &str = "roll back the last run";
    let (_, fleet) = targets.find_live(false)?;
    consent.is_possible(PURPOSE)?;
    let named = options.run.as_deref();
    let offer = &fleet.options().offer;
    let plan = choose_run(&statuses(&fleet), named).map_err(|error| match error {
        ChooseRunError::Unknown { .. } => RollbackError::UnknownRun {
            reason: error.to_string(),
            status: offer.command(CommandVerb::Status).to_string(),
        },
        ChooseRunError::Ambiguous { .. } | ChooseRunError::NoNewest { .. } => error.into(),
    })?;
    // Where nothing is rolled back, what is said of each node at the end is all there is.
    if plan.has_work() {
        let observer = &fleet.options().observer;
        observer.observe(ControlEvent::RollbackPlanned(&plan));
    }
    let nodes = match undetermined_run(&plan, named) {
        Some(nodes) => nodes,
        None if plan.has_work() => {
            let told = fleet.options();
            told.last_words(UNCHANGED_MESSAGE);
            consent.ask(&rollback_question("Roll this back?"), PURPOSE)?;
            let finish = told.offer.command(CommandVerb::Rollback);
            let finish = finish.option("run", plan.run.as_deref());
            told.last_words(&interrupt_message(&told.offer, &finish));
            let nodes = roll_back_nodes(&fleet, &plan, options.force);
            told.last_words("");
            nodes
        }
        None => plan.nodes.iter().map(unchanged_report).collect(),
    };
    let mut changes = ApplyReport::new(nodes);
    changes.run.clone_from(&plan.run);
    let again = offer.command(CommandVerb::Rollback);
    let again = again.option("run", plan.run.as_deref()).to_string();
    changes.half_rolled_back = changes.half_rolled_back(&again);
    changes.rollback = Some(plan);
    Ok(changes)
}

/// Rolls back every change, and leaves nothing of ours on the nodes.
pub fn uninstall(
    targets: &RequestedTargets,
    options: &RollbackOptions,
    consent: &Consent,
) -> Result<ApplyReport, RollbackError> {
    const PURPOSE: &str = "roll back every change and remove this tool's files";
    let (_, fleet) = targets.find_live(false)?;
    consent.is_possible(PURPOSE)?;
    let on = match fleet.names().as_slice() {
        few if few.len() <= 2 => format!("Do this on {}?", few.join(" and ")),
        many => format!("Do this on {} nodes?", many.len()),
    };
    let question = ConsentQuestion {
        text: "Every change is rolled back, and all files of Crosstie's are removed.",
        ..rollback_question(&on)
    };
    fleet.options().last_words(UNCHANGED_MESSAGE);
    consent.ask(&question, PURPOSE)?;
    let limits = ApplyTimeouts::default();
    let question = ChangeRequest::Uninstall {
        force: options.force,
    };
    let connectors = fleet.connectors();
    let offer = fleet.options().offer.clone();
    let finish = offer.command(CommandVerb::Uninstall);
    fleet
        .options()
        .last_words(&interrupt_message(&offer, &finish));
    let nodes = on_each_node(&fleet, limits, move |index, session, progress| {
        let answer = call_change(session, &question, limits.rollback, progress);
        outcome(connectors[index].name(), answer, &offer)
    });
    fleet.options().last_words("");
    Ok(ApplyReport::new(nodes))
}

/// Where a node could not be asked and no run is named, the newest is not known, and nothing is rolled back.
pub(super) fn undetermined_run(
    plan: &RollbackPlan,
    named: Option<&str>,
) -> Option<Vec<NodeChange>> {
    let silent = plan.nodes.iter().find(|node| node.error.is_some())?;
    if named.is_some() {
        return None;
    }
    // It came from a node, and may be pasted.
    let run = word(plan.run.as_deref().unwrap_or("ID"));
    let why = format!(
        "{} could not be asked, and may have a newer run; pass --run {run} to roll that one back all the same",
        silent.node
    );
    let change = |node: &NodeRollbackPlan| match node.error {
        Some(_) => unchanged_report(node),
        None => NodeChange::new(&node.node, NodeChangeOutcome::NotBegun).with_reason(&why),
    };
    Some(plan.nodes.iter().map(change).collect())
}

/// A node on which there is nothing to roll back.
fn unchanged_report(node: &NodeRollbackPlan) -> NodeChange {
    match (&node.error, node.left_alone) {
        (Some(why), _) => NodeChange::new(&node.node, NodeChangeOutcome::Failed).with_reason(why),
        (None, why) => {
            let why = why.map_or("nothing to roll back", |why| why.words());
            NodeChange::new(&node.node, NodeChangeOutcome::Unchanged).with_reason(why)
        }
    }
}

fn roll_back_nodes(fleet: &Fleet, plan: &RollbackPlan, force: bool) -> Vec<NodeChange> {
    let limits = ApplyTimeouts::default();
    let (connectors, parts) = (fleet.connectors(), plan.nodes.clone());
    let offer = fleet.options().offer.clone();
    on_each_node(fleet, limits, move |index, session, progress| {
        let way = RollbackRoute {
            connector: connectors[index].as_ref(),
            offer: &offer,
            limits,
            progress,
        };
        roll_back_node(&way, session, &parts[index], force)
    })
}

/// Of every node, or why it was not asked.
fn on_each_node(
    fleet: &Fleet,
    limits: ApplyTimeouts,
    work: impl Fn(usize, &dyn Session, &dyn Fn(NodeStage)) -> NodeChange + Send + Sync + 'static,
) -> Vec<NodeChange> {
    let twice = 2 * limits.rollback + limits.settle;
    let answers = fleet.call(twice, move |index, session, progress| {
        Ok(work(index, session, progress))
    });
    answers
        .into_iter()
        .map(|(name, change)| {
            change.unwrap_or_else(|error| {
                NodeChange::new(&name, NodeChangeOutcome::Failed).with_reason(error.line())
            })
        })
        .collect()
}

/// How a node that rolls back is reached, and what a person is offered.
pub(super) struct RollbackRoute<'a> {
    pub(super) connector: &'a dyn Connector,
    pub(super) offer: &'a CommandContext,
    pub(super) limits: ApplyTimeouts,
    pub(super) progress: &'a dyn Fn(NodeStage),
}

/// One node's part of a rollback: what was shown, and nothing else.
pub(super) fn roll_back_node(
    way: &RollbackRoute<'_>,
    session: &dyn Session,
    part: &NodeRollbackPlan,
    force: bool,
) -> NodeChange {
    let Some(oldest) = part.transactions.last() else {
        return unchanged_report(part);
    };
    let ids = part.transactions.iter().map(|one| one.id.clone());
    let question = ChangeRequest::Rollback {
        transaction: Some(oldest.id.clone()),
        only: Some(ids.collect()),
        force,
        why: None,
    };
    match call_change(session, &question, way.limits.rollback, way.progress) {
        Err(lost @ ChangeCallError::Unreachable(_)) => {
            unreachable::resume_rollback(way, part, &question, &lost)
        }
        answer => outcome(&part.node, answer, way.offer),
    }
}

fn outcome(
    name: &str,
    answer: Result<ChangeReply, ChangeCallError>,
    offer: &CommandContext,
) -> NodeChange {
    let change = |outcome| NodeChange::new(name, outcome);
    match answer {
        Ok(ChangeReply::RolledBack(report)) => {
            let mut change = match &report.still_in_force {
                None => change(NodeChangeOutcome::RolledBack),
                Some(next) => change(NodeChangeOutcome::Failed).with_reason(format!(
                    "rolled back {}; {} is still in force: {}",
                    report.transactions.join(", "),
                    next.transaction,
                    next.why
                )),
            };
            change.transaction = report.transactions.last().cloned();
            change.notes = remarks(&report).collect();
            change
        }
        Ok(ChangeReply::Nothing) => {
            change(NodeChangeOutcome::Unchanged).with_reason("nothing to roll back")
        }
        Ok(_) => change(NodeChangeOutcome::Failed)
            .with_reason(ChangeCallError::wrong_answer().to_string()),
        Err(ChangeCallError::Refused(
            error @ (ChangeError::Stuck { .. }
            | ChangeError::UnfinishedRollback { .. }
            | ChangeError::NotRoot { .. }),
        )) => change(NodeChangeOutcome::Failed).with_reason(error_with_suggestion(&error, offer)),
        Err(ChangeCallError::Refused(error)) => {
            change(NodeChangeOutcome::Refused).with_reason(error_with_suggestion(&error, offer))
        }
        Err(ChangeCallError::Unreachable(error)) => {
            change(NodeChangeOutcome::Failed).with_reason(error.line())
        }
    }
}
