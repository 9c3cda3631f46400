//! Changes of nodes: `apply`, and what belongs to it: rollback, uninstall, status, try.
//!
//! ```text
//! snapshot ─▶ plan ─▶ question ─▶ canary ─▶ the others ─▶ this machine
//!                                 each: probe ─▶ change ─▶ new connection ─▶ probe ─▶ confirm, or roll back
//! ```

mod ask;
mod choose;
mod lost;
mod rollout;
mod run_id;
mod status;
mod subjects;
#[cfg(test)]
mod tests;
mod transaction;
mod trial;
mod undo;

use crosstie_agent::CallError;
use crosstie_model::{
    Facts, NodePlan, Plan, Spec,
    change::{Ask, ChangeError, Order},
};
use crosstie_report::{
    change::{Change, Changes, Outcome},
    offer::{Offer, Verb},
};

use crate::{
    Consent, ConsentError, Event, Fleet, FleetSnapshot, Found, NoRandomNumbers, NodeError,
    NodeFacts, Nodes, Question, SnapshotError, Targets, TargetsError,
    plan::{PlanError, find, make},
};
use rollout::{Job, carry_out};
use subjects::Subjects;
use transaction::PlanAgain;

pub use ask::Limits;
pub use choose::ChooseError;
pub use run_id::new_run_id;
pub use status::status;
pub(crate) use status::status_of;
pub use trial::{TrialOptions, TryError, attempt};
pub use undo::{UndoError, UndoOptions, rollback, uninstall};

/// What whoever presses Ctrl-C is told.
fn interrupted(offer: &Offer) -> String {
    format!(
        "crosstie: interrupted; nodes that were not confirmed yet go back by themselves, and those that were are changed.\n  \
         {}    tells which\n  {}    undoes it",
        offer.command(Verb::Status),
        offer.command(Verb::Rollback),
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
    /// Seconds until a node goes back by itself.
    pub guard: u32,
    /// Also where programs use RDMA on a port that changes.
    pub force: bool,
    /// The node that goes first, by its host name or as it was called.
    pub canary: Option<String>,
}

/// The nodes of a cluster, planned, approved of and changed.
pub fn apply(
    targets: &Targets,
    options: &ApplyOptions,
    consent: &Consent,
) -> Result<Changes, ApplyError> {
    let Found { spec, file, nodes } = find(targets)?;
    let Nodes::Live(fleet) = nodes else {
        return Err(TargetsError::CapturesUnchanged.into());
    };
    consent.is_possible(CHANGE)?;
    let nodes = FleetSnapshot::take(&fleet).as_root(no_root)?;
    let plan = make(&spec, &nodes, file.as_deref())?;
    let options = ApplyOptions {
        canary: called(options.canary.as_deref(), &nodes)?,
        ..options.clone()
    };
    fleet.options().observer.observe(Event::Planned(&plan));
    approve(&plan, options.guard, consent)?;
    change(&plan, &new_run_id()?, &spec, &fleet, &nodes, &options)
}

/// The one question. Where there is nothing to do, or nothing may be done, nobody is asked.
pub(crate) fn approve(plan: &Plan, guard: u32, consent: &Consent) -> Result<(), ConsentError> {
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
    let text = format!("{each} goes back by itself unless it is reached again within {guard} s.");
    let question = Question {
        text: &text,
        ask: &ask,
        plan: Some(plan),
        until: None,
    };
    consent.ask(&question, CHANGE)
}

/// What `--yes` does without a question.
pub(crate) const CHANGE: &str = "change nodes";

/// Every node of the plan, and what became of it. `run` is what the changes of all nodes share.
pub(crate) fn change(
    plan: &Plan,
    run: &str,
    spec: &Spec,
    fleet: &Fleet,
    nodes: &[NodeFacts],
    options: &ApplyOptions,
) -> Result<Changes, ApplyError> {
    let before = plan.nodes.iter().map(|node| before(node, plan));
    let mut changes = Changes::new(before.collect());
    if plan.is_refused() {
        return Ok(changes);
    }
    let subjects = Subjects::new(Some(spec), fleet, nodes);
    let jobs = plan.nodes.iter().map(|node| {
        let order = Order {
            run: run.to_owned(),
            cluster: plan.cluster.clone(),
            plan: node.clone(),
            guard_seconds: options.guard,
            force: options.force,
        };
        job(order, spec, nodes, &subjects)
    });
    let jobs = jobs.collect::<Result<Vec<Job>, ApplyError>>()?;
    let canary = options.canary.as_deref();
    let canary = plan
        .nodes
        .iter()
        .position(|node| Some(node.node.as_str()) == canary);
    changes.run = plan.has_work().then(|| run.to_owned());
    for done in observed(fleet, jobs, canary) {
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
fn before(node: &NodePlan, plan: &Plan) -> Change {
    if !node.refusals.is_empty() {
        let why: Vec<String> = node.refusals.iter().map(ToString::to_string).collect();
        return Change::new(&node.node, Outcome::Refused).because(why.join("; "));
    }
    if node.steps.is_empty() {
        return Change::new(&node.node, Outcome::Unchanged);
    }
    let change = Change::new(&node.node, Outcome::NotBegun);
    if plan.is_refused() {
        return change.because("another node's plan is refused; name the others to go without it");
    }
    change
}

/// The host name of the node that a person calls so.
fn called(name: Option<&str>, nodes: &[NodeFacts]) -> Result<Option<String>, ApplyError> {
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

fn job(
    order: Order,
    spec: &Spec,
    nodes: &[NodeFacts],
    subjects: &Subjects,
) -> Result<Job, ApplyError> {
    let name = &order.plan.node;
    let index = nodes.iter().position(|one| one.facts.host.name == *name);
    let index = index.ok_or_else(|| ApplyError::NotRead { node: name.clone() })?;
    let facts: Vec<Facts> = nodes.iter().map(|one| (*one.facts).clone()).collect();
    let subject = subjects.subject(index);
    Ok(Job {
        // One that has nothing to do is asked as well: it may be on its way to another state, by somebody's rollback.
        subject: if order.plan.steps.is_empty() {
            subject.unprobed()
        } else {
            subject
        },
        again: again(spec.clone(), facts, order.clone()),
        order,
    })
}

/// The same order for a node that is no longer as it was, where the plan that was approved of is still the plan.
fn again(spec: Spec, nodes: Vec<Facts>, order: Order) -> Box<PlanAgain> {
    Box::new(move |now| {
        let mut nodes = nodes.clone();
        let name = &order.plan.node;
        let index = nodes.iter().position(|facts| facts.host.name == *name)?;
        nodes[index] = now.clone();
        let plan = crosstie_plan::plan(&spec, &nodes).ok()?;
        let plan = plan.nodes.into_iter().find(|node| node.node == *name)?;
        plan.is_same_work(&order.plan).then(|| {
            Ask::Apply(Box::new(Order {
                plan,
                ..order.clone()
            }))
        })
    })
}

/// With the progress of each told.
fn observed(fleet: &Fleet, jobs: Vec<Job>, canary: Option<usize>) -> Vec<Change> {
    let options = fleet.options();
    if jobs.iter().any(|job| !job.order.plan.steps.is_empty()) {
        options.last_words(&interrupted(&options.offer));
    }
    let names: Vec<String> = jobs.iter().map(|job| job.subject.node.clone()).collect();
    let round = fleet.round(&names);
    let changes = carry_out(jobs, canary, Limits::default(), &round);
    round.end();
    options.last_words("");
    changes
}
