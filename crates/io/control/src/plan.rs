//! Plans, from a cluster file and facts; and the files of a plan, written for a person to look at.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use crosstie_model::{ClusterPlan, ClusterSpec, Facts};
use crosstie_report::{
    plan::{PlannedFile, files},
    text::printable,
};

use crate::{
    CLUSTER_FILE, ControlEvent, EventObserver, FleetSnapshot, NodeFacts, NodesFailed,
    RequestedTargets, ResolvedTargets, TargetNodes, TargetsError,
    files::{FileWriteError, InvalidFolderName, folder_name},
};

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error("this needs a cluster file, and there is no {CLUSTER_FILE} here: `{init}` writes one")]
    NoClusterFile { init: String },
    #[error("the cluster file cannot be satisfied")]
    Faults(#[source] FaultLines),
    #[error(transparent)]
    FaultsOfLab(crosstie_plan::InvalidSpecError),
    #[error(transparent)]
    Folder(#[from] InvalidFolderName),
    #[error(transparent)]
    Write(#[from] FileWriteError),
}

/// `cluster.toml:12: [[cable]] 2: …`, a line for each fault.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct FaultLines(Vec<String>);

/// The nodes, and the cluster file that they are planned by.
pub fn find(targets: &RequestedTargets) -> Result<ResolvedTargets<ClusterSpec>, PlanError> {
    let found = targets.find_planned()?;
    let found = found.ok_or_else(|| PlanError::NoClusterFile {
        init: targets.init_command(),
    })?;
    // A fault of the file is told before anyone is asked for a password.
    let faults = found.spec.check();
    if !faults.is_empty() {
        let error = crosstie_plan::InvalidSpecError { faults };
        return Err(with_lines(error, found.file.as_deref()));
    }
    Ok(found)
}

/// Reads the nodes and plans for those that could be read; the others are told beside it.
pub fn plan(targets: &RequestedTargets) -> Result<(ClusterPlan, NodesFailed), PlanError> {
    let found = find(targets)?;
    let file = found.file.clone();
    let (spec, read, unread) = read(targets, found);
    let plan = crosstie_plan::plan(&spec, &read);
    let plan = plan.map_err(|error| with_lines(error, file.as_deref()))?;
    Ok((plan, unread))
}

/// The cluster file, and facts of its nodes.
pub(crate) fn read_planned(
    targets: &RequestedTargets,
) -> Result<(ClusterSpec, Vec<Facts>, NodesFailed), PlanError> {
    Ok(read(targets, find(targets)?))
}

fn read(
    targets: &RequestedTargets,
    ResolvedTargets { spec, nodes, .. }: ResolvedTargets<ClusterSpec>,
) -> (ClusterSpec, Vec<Facts>, NodesFailed) {
    let captured = matches!(nodes, TargetNodes::Captured(_));
    let (mut read, unread) = divide(FleetSnapshot::parse(nodes.read()));
    if captured {
        let observer = &targets.options.observer;
        drop_foreign_captures(&spec, &mut read, observer.as_ref());
    }
    (spec, read, unread)
}

/// `file` is where the cluster file's faults are.
pub(crate) fn plan_with_errors(
    spec: &ClusterSpec,
    nodes: &[NodeFacts],
    file: Option<&Path>,
) -> Result<ClusterPlan, PlanError> {
    let facts: Vec<Facts> = nodes.iter().map(|node| (*node.facts).clone()).collect();
    crosstie_plan::plan(spec, &facts).map_err(|error| with_lines(error, file))
}

/// Two captures of one node: the later one counts.
fn divide(snapshot: FleetSnapshot) -> (Vec<Facts>, NodesFailed) {
    let mut read: Vec<(String, Facts)> = Vec::new();
    let mut failed = Vec::new();
    for node in snapshot.nodes {
        match node.facts {
            Ok(facts) => {
                let facts = (*facts).clone();
                let again = |(_, other): &(String, Facts)| other.host.name == facts.host.name;
                match read.iter().position(again) {
                    Some(index) if read[index].0 < node.captured => {
                        read[index] = (node.captured, facts);
                    }
                    Some(_) => {}
                    None => read.push((node.captured, facts)),
                }
            }
            Err(error) => failed.push((node.name, error)),
        }
    }
    let read = read.into_iter().map(|(_, facts)| facts).collect();
    (read, NodesFailed(failed))
}

/// A folder of captures may hold other people's nodes. A node that was asked for by name is not left out.
fn drop_foreign_captures(spec: &ClusterSpec, read: &mut Vec<Facts>, observer: &dyn EventObserver) {
    let (own, others): (Vec<Facts>, Vec<Facts>) = read
        .drain(..)
        .partition(|facts| spec.node(&facts.host.name).is_some());
    for facts in &others {
        let name = printable(&facts.host.name);
        let text = format!("the capture of {name} is left out: it is not in the cluster file");
        observer.observe(ControlEvent::Notice(&text));
    }
    *read = if own.is_empty() { others } else { own };
}

pub(crate) fn with_lines(error: crosstie_plan::InvalidSpecError, path: Option<&Path>) -> PlanError {
    let Some(path) = path else {
        return PlanError::FaultsOfLab(error);
    };
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = error.faults.iter().map(|fault| {
        let line = fault.place.line(&text);
        let line = line.map_or_else(String::new, |line| format!("{line}: "));
        format!("{}:{line}{fault}", path.display())
    });
    PlanError::Faults(FaultLines(lines.collect()))
}

/// `DIR/NODE/etc/…`. What is there already is replaced, file by file; no link is followed out of a node's folder.
pub fn write(plan: &ClusterPlan, directory: &Path) -> Result<(), PlanError> {
    let allowed = plan.nodes.iter().filter(|node| node.refusals.is_empty());
    for node in allowed {
        let folder = directory.join(folder_name(&node.node)?);
        for file in files(node) {
            let path = folder.join(file.path.trim_start_matches('/'));
            write_file(&path, &file).map_err(|source| FileWriteError { path, source })?;
        }
    }
    Ok(())
}

fn write_file(path: &Path, file: &PlannedFile) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    let mut target = options
        .write(true)
        .create_new(true)
        .mode(file.mode)
        .open(path)?;
    target.write_all(file.text.as_bytes())
}
