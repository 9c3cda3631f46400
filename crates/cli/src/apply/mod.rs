//! `crosstie apply`, and what belongs to it: `rollback`, `uninstall`, `status`, `try`.
//!
//! ```text
//! look ─▶ plan ─▶ question ─▶ canary ─▶ the others ─▶ this machine
//!                             each: probe ─▶ change ─▶ new connection ─▶ probe ─▶ confirm, or back
//! ```

pub(crate) mod args;
mod ask;
mod choose;
mod fleet;
mod lost;
mod probes;
mod run_id;
mod status;
mod subjects;
#[cfg(test)]
mod tests;
mod transaction;
mod trial;
mod undo;
mod witness;

use std::{process::ExitCode, sync::Arc};

use anyhow::bail;
use clap::ColorChoice;
use crosstie_model::{
    Facts, NodePlan, Plan, Spec,
    change::{Ask, ChangeError, Order},
};
use crosstie_reach::set_last_words;
use crosstie_report::{
    change::{Change, Changes, Outcome, view},
    plan,
};

use crate::{
    args::Root,
    exit,
    look::{Looked, look},
    nodes::Fleet,
    output,
    plan::{find, make},
    targets::{Found, Nodes},
    terminal,
};
use args::Apply;
use fleet::{Job, Watch, carry_out};
use subjects::Subjects;
use transaction::PlanAgain;

pub(crate) use ask::Limits;
pub(crate) use run_id::new_run_id;
pub(crate) use status::run as status;
pub(crate) use trial::run as attempt;
pub(crate) use undo::{rollback, uninstall};

/// What whoever presses Ctrl-C is told.
const INTERRUPTED: &str = "crosstie: interrupted; nodes that were not confirmed yet go back by themselves \
     (crosstie status tells)";

pub(crate) fn run(apply: &Apply, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let (file, Found { spec, nodes }) = find(&apply.chosen.targets(&apply.root), colour)?;
    let Nodes::Live(fleet) = nodes else {
        bail!("captures cannot be changed");
    };
    terminal::is_there_or(apply.yes, "change nodes")?;
    let Some(looked) = look(&fleet, no_root)? else {
        return Ok(exit::tool_failed());
    };
    let facts: Vec<_> = looked.iter().map(|node| node.facts.clone()).collect();
    let plan = make(&spec, &facts, file.as_deref())?;
    let canary = apply.canary.as_deref();
    let canary = canary.map(|name| called(name, &looked)).transpose()?;
    show(&plan, apply.json, colour)?;
    approve(&plan, apply.guard, apply.yes)?;
    let run = new_run_id()?;
    let means = Means {
        run: &run,
        spec: &spec,
        fleet: &fleet,
        looked: &looked,
        root: &apply.root,
        guard: apply.guard,
        force: apply.force,
        canary,
        colour,
    };
    let mut changes = change(&plan, &means)?;
    changes.half_configured = changes.half_configured(&apply.again(), &apply.undo(&run));
    report(&changes, false, apply.json, colour)
}

/// What a plan is carried out with.
pub(crate) struct Means<'a> {
    /// What the changes of all nodes share.
    pub(crate) run: &'a str,
    pub(crate) spec: &'a Spec,
    pub(crate) fleet: &'a Fleet,
    pub(crate) looked: &'a [Looked],
    pub(crate) root: &'a Root,
    /// Seconds.
    pub(crate) guard: u32,
    pub(crate) force: bool,
    /// The host name of the node that goes first.
    pub(crate) canary: Option<&'a str>,
    pub(crate) colour: ColorChoice,
}

/// The one question. Where there is nothing to do, or nothing may be done, nobody is asked.
pub(crate) fn approve(plan: &Plan, guard: u32, yes: bool) -> anyhow::Result<()> {
    let asks = !yes && plan.has_work() && !plan.is_refused();
    if asks && !terminal::approve(&question(plan, guard)) {
        bail!("nothing was changed");
    }
    Ok(())
}

/// Every node of the plan, and what became of it.
pub(crate) fn change(plan: &Plan, means: &Means) -> anyhow::Result<Changes> {
    let nodes = plan.nodes.iter().map(|node| before(node, plan));
    let mut changes = Changes::new(nodes.collect());
    if !plan.is_refused() && plan.has_work() {
        let subjects = Subjects::new(
            means.spec,
            means.fleet,
            means.looked,
            means.root,
            means.colour,
        );
        let working = || plan.nodes.iter().filter(|node| !node.steps.is_empty());
        let jobs = working().map(|node| job(node, plan, means, &subjects));
        let jobs = jobs.collect::<anyhow::Result<Vec<Job>>>()?;
        let canary = working().position(|node| Some(node.node.as_str()) == means.canary);
        changes.run = Some(means.run.to_owned());
        for done in watched(means.fleet, jobs, canary) {
            let mut nodes = changes.nodes.iter_mut();
            if let Some(change) = nodes.find(|change| change.node == done.node) {
                *change = done;
            }
        }
    }
    Ok(changes)
}

pub(crate) fn no_root(why: String) -> String {
    ChangeError::NotRoot { why }.to_string()
}

/// The plan is data, unless JSON is.
pub(crate) fn show(plan: &Plan, json: bool, colour: ColorChoice) -> anyhow::Result<()> {
    let text = plan::view(plan, &[], "", output::palette(colour));
    if json {
        output::tell(&text);
    } else {
        output::print(&format!("{text}\n"))?;
    }
    Ok(())
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

fn question(plan: &Plan, guard: u32) -> String {
    let working = plan.nodes.iter().filter(|node| !node.steps.is_empty());
    let names: Vec<&str> = working.map(|node| node.node.as_str()).collect();
    format!(
        "Change {}? Each goes back by itself unless it is reached again within {guard} s.",
        names.join(", ")
    )
}

/// The host name of the node that a person calls so.
fn called<'a>(name: &str, looked: &'a [Looked]) -> anyhow::Result<&'a str> {
    let mut hosts = looked.iter();
    let found = hosts.find(|node| node.facts.host.name == name || node.destination == name);
    match found {
        Some(node) => Ok(&node.facts.host.name),
        None => bail!("--canary {name}: it is not among the nodes"),
    }
}

fn job(node: &NodePlan, plan: &Plan, means: &Means, subjects: &Subjects) -> anyhow::Result<Job> {
    let mut looked = means.looked.iter();
    let place = looked.position(|one| one.facts.host.name == node.node);
    let Some(place) = place else {
        bail!(
            "{} was planned for and not read; this is a bug, please report it",
            node.node
        );
    };
    let order = Order {
        run: means.run.to_owned(),
        cluster: plan.cluster.clone(),
        plan: node.clone(),
        guard_seconds: means.guard,
        force: means.force,
    };
    let nodes: Vec<Facts> = means.looked.iter().map(|one| one.facts.clone()).collect();
    Ok(Job {
        subject: subjects.subject(place),
        again: again(means.spec.clone(), nodes, order.clone()),
        order,
    })
}

/// The same order for a node that is no longer as it was, where the plan that was approved of is still the plan.
fn again(spec: Spec, nodes: Vec<Facts>, order: Order) -> Box<PlanAgain> {
    Box::new(move |now| {
        let mut nodes = nodes.clone();
        let name = &order.plan.node;
        let place = nodes.iter().position(|facts| facts.host.name == *name)?;
        nodes[place] = now.clone();
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

/// With the progress of each drawn.
fn watched(fleet: &Fleet, jobs: Vec<Job>, canary: Option<usize>) -> Vec<Change> {
    set_last_words(INTERRUPTED);
    let names: Vec<String> = jobs.iter().map(|job| job.subject.node.clone()).collect();
    let progress = fleet.progress(&names);
    let drawn = Arc::clone(&progress);
    let watch: Watch = Arc::new(move |index, stage| drawn.set(index, stage));
    let changes = carry_out(jobs, canary, Limits::default(), &watch);
    progress.stop();
    set_last_words("");
    changes
}

fn report(
    changes: &Changes,
    undone: bool,
    json: bool,
    colour: ColorChoice,
) -> anyhow::Result<ExitCode> {
    if json {
        output::print(&output::json(changes)?)?;
    } else {
        output::print(&view(changes, undone, output::palette(colour)))?;
    }
    Ok(status_of(changes, undone))
}

/// 1 where a node is not as it was asked for, 2 where one is lost.
pub(crate) fn status_of(changes: &Changes, undone: bool) -> ExitCode {
    let mut outcomes = changes.nodes.iter().map(|change| change.outcome);
    if outcomes.clone().any(|outcome| outcome == Outcome::Failed) {
        exit::tool_failed()
    } else if outcomes
        .all(|outcome| outcome.is_fine() || (undone && outcome == Outcome::RolledBack))
    {
        exit::CLEAN
    } else {
        exit::faults()
    }
}
