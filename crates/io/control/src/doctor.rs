//! The doctor's word on nodes as they are, and as a plan would leave them.

use std::{convert::Infallible, sync::Arc, thread, time::Duration};

use crosstie_doctor::{
    CheckSelection, Diagnosis, DoctorInput, NodeFindings, NodeInput, UnreadNode, checks, diagnose,
};
use crosstie_model::{ClusterPlan, ClusterSpec, Facts, run::StoredRun};
use crosstie_plan::predict_facts;
use crosstie_report::up::{UpFinding, mark_fixed};

use crate::{Fleet, FleetSnapshot, NodeFacts, NodeReading, NodeSnapshot};

/// Checks that need more than facts of nodes, each with what it needs.
#[derive(Debug, thiserror::Error)]
#[error("the doctor cannot look for this")]
pub struct ChecksNeedMoreInput(#[source] Causes);

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Causes(String);

/// Whoever asks for checks by their names would take silence for health.
pub fn require_runnable(only: &[String]) -> Result<(), ChecksNeedMoreInput> {
    let checks = only.iter().filter_map(|id| checks::find(id));
    let causes: Vec<String> = checks
        .filter_map(|check| Some(format!("{}: {}", check.id, check.needs()?.words())))
        .collect();
    if causes.is_empty() {
        return Ok(());
    }
    Err(ChecksNeedMoreInput(Causes(causes.join("\n"))))
}

/// The latest of some captures of each node, and the one before it where there is one: two captures of a node since one
/// boot are two readings of it.
pub fn pair_captures(mut readings: Vec<NodeReading>) -> (FleetSnapshot, Vec<Option<NodeSnapshot>>) {
    readings.sort_by(|a, b| match (&a.raw, &b.raw) {
        (Ok(a), Ok(b)) => (&a.meta.host, &a.meta.captured).cmp(&(&b.meta.host, &b.meta.captured)),
        (a, b) => a.is_err().cmp(&b.is_err()),
    });
    let mut now: Vec<NodeSnapshot> = Vec::new();
    let mut before: Vec<Option<NodeSnapshot>> = Vec::new();
    for node in FleetSnapshot::parse(readings).nodes {
        if now.last().is_some_and(|last| is_same_boot(last, &node)) {
            before.pop();
            before.push(now.pop());
        } else {
            before.push(None);
        }
        now.push(node);
    }
    (FleetSnapshot { nodes: now }, before)
}

/// Live nodes, and the reading before it where counters are to be seen growing.
pub fn read_nodes(
    fleet: &Fleet,
    interval: Option<Duration>,
) -> (FleetSnapshot, Vec<Option<NodeSnapshot>>) {
    let before = interval.map_or_else(Vec::new, |interval| {
        let before = FleetSnapshot::take(fleet);
        thread::sleep(interval);
        earlier(before)
    });
    (FleetSnapshot::take(fleet), before)
}

/// Looks again and again, until `see` fails.
pub fn watch<E>(
    fleet: &Fleet,
    spec: Option<&ClusterSpec>,
    selection: CheckSelection,
    interval: Duration,
    mut see: impl FnMut(Diagnosis) -> Result<(), E>,
) -> Result<Infallible, E> {
    let mut before = Vec::new();
    loop {
        let now = FleetSnapshot::take(fleet);
        see(examine(&now, &before, spec, selection))?;
        before = earlier(now);
        thread::sleep(interval);
    }
}

fn earlier(snapshot: FleetSnapshot) -> Vec<Option<NodeSnapshot>> {
    snapshot.nodes.into_iter().map(Some).collect()
}

fn is_same_boot(a: &NodeSnapshot, b: &NodeSnapshot) -> bool {
    let identity = |node: &NodeSnapshot| {
        let host = &node.facts.as_ref().ok()?.host;
        let (boot, machine) = (host.boot_id.known()?, host.machine_id.known()?);
        Some((boot.clone(), machine.clone(), host.name.clone()))
    };
    identity(a).is_some_and(|first| identity(b) == Some(first))
}

/// Every node, also those that could not be read. `before` is empty, or has the same nodes in the same order.
pub fn examine(
    now: &FleetSnapshot,
    before: &[Option<NodeSnapshot>],
    spec: Option<&ClusterSpec>,
    selection: CheckSelection,
) -> Diagnosis {
    examine_with(now, before, &[], spec, selection)
}

/// The same, with what was measured between the nodes.
pub fn examine_with(
    now: &FleetSnapshot,
    before: &[Option<NodeSnapshot>],
    runs: &[StoredRun],
    spec: Option<&ClusterSpec>,
    selection: CheckSelection,
) -> Diagnosis {
    let earlier = |index: usize| before.get(index)?.as_ref()?.facts.as_deref().ok();
    let nodes = now.nodes.iter().enumerate();
    let patients: Vec<NodeInput> = nodes
        .clone()
        .filter_map(|(index, node)| {
            Some(NodeInput {
                facts: node.facts.as_ref().ok()?,
                earlier: earlier(index),
                clock: node.clock,
            })
        })
        .collect();
    let failed = nodes.filter_map(|(index, node)| {
        let error = node.facts.as_ref().err()?.line();
        Some((index, &node.name, error))
    });
    let failed: Vec<(usize, &String, String)> = failed.collect();
    let unread: Vec<UnreadNode> = failed
        .iter()
        .map(|(_, name, error)| UnreadNode {
            host: name_in_file(spec, name).to_owned(),
            error: error.clone(),
        })
        .collect();
    let mut diagnosis = diagnose(&DoctorInput {
        patients: &patients,
        unread: &unread,
        runs,
        spec,
        selection,
    });
    for (index, name, error) in failed {
        let failed = NodeFindings {
            host: name.clone(),
            error: Some(error),
            findings: Vec::new(),
            notes: Vec::new(),
        };
        diagnosis.nodes.insert(index, failed);
    }
    diagnosis
}

/// A node that does not answer does not tell its name: the cluster file's, for where it was looked for.
fn name_in_file<'a>(spec: Option<&'a ClusterSpec>, destination: &'a str) -> &'a str {
    let mut nodes = spec.map_or(&[][..], |spec| &spec.nodes).iter();
    let node = nodes.find(|node| node.ssh.as_deref().unwrap_or(&node.name) == destination);
    node.map_or(destination, |node| &node.name)
}

/// Every finding on these nodes, and whether `plan` mends it. `earlier` has the same nodes in the same order.
pub fn foreseen(
    now: &[NodeFacts],
    earlier: Option<&[NodeFacts]>,
    spec: &ClusterSpec,
    plan: Option<&ClusterPlan>,
) -> Vec<UpFinding> {
    let diagnosis = |facts: &[Arc<Facts>]| {
        let nodes = now.iter().zip(facts).enumerate();
        let patients: Vec<NodeInput> = nodes
            .map(|(index, (node, facts))| NodeInput {
                facts,
                earlier: earlier.and_then(|nodes| Some(&*nodes.get(index)?.facts)),
                clock: node.clock,
            })
            .collect();
        diagnose(&DoctorInput {
            patients: &patients,
            spec: Some(spec),
            ..DoctorInput::default()
        })
    };
    let facts: Vec<Arc<Facts>> = now.iter().map(|node| Arc::clone(&node.facts)).collect();
    let then = plan.map(|plan| {
        let planned = facts.iter().map(|facts| planned(plan, facts));
        diagnosis(&planned.collect::<Vec<_>>())
    });
    mark_fixed(&diagnosis(&facts), then.as_ref())
}

fn planned(plan: &ClusterPlan, facts: &Arc<Facts>) -> Arc<Facts> {
    let mut plans = plan.nodes.iter();
    match plans.find(|node| node.node == facts.host.name) {
        Some(node) => Arc::new(predict_facts(node, facts)),
        None => Arc::clone(facts),
    }
}
