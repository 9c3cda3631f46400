//! What is cabled to what, heard by the ports themselves, and the cluster file that says so.

use std::path::Path;

use crosstie_agent::CallError;
use crosstie_fabric::{
    cabling::{self, DetectedCabling, SurveyedNode},
    init::{InitCandidate, propose},
};
use crosstie_model::ClusterSpec;
use crosstie_node::cabling::CablingError;
use crosstie_report::{
    cluster_file::{ExistingClusterFile, MergedClusterFile, merge},
    init as report,
};

use crate::{
    ClusterFileReadError, Fleet, FleetError, NodeError, NodeFacts, RequestedTargets, TargetsError,
    cabling::{CablingListenError, listen},
    cluster_file::merging,
    destinations,
    files::{self, FileWriteError},
};

/// Of a cluster that nobody has named.
const DEFAULT_CLUSTER_NAME: &str = "cluster";

pub struct InitOptions<'a> {
    /// Where the nodes' cluster file is.
    pub file: &'a Path,
    /// What it says already.
    pub existing: Option<&'a ExistingClusterFile>,
    /// What a new one is called.
    pub name: Option<&'a str>,
    pub dry_run: bool,
    /// To listen for at most, once every node does.
    pub seconds: Option<u32>,
}

/// What the nodes heard of each other, and the file that it makes.
#[derive(Debug)]
pub struct CablingDiscovery {
    pub found: report::InitReport,
    pub merged: MergedClusterFile,
    pub surveys: Vec<SurveyedNode>,
    pub wiring: DetectedCabling,
}

#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("name the nodes, like `. spark-b`    (`.` is this machine, others as ssh takes them)")]
    NoNodes,
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Listen(#[from] CablingListenError),
    #[error(transparent)]
    ClusterFile(#[from] ClusterFileReadError),
    #[error(transparent)]
    Write(#[from] FileWriteError),
}

pub fn no_root(why: String) -> NodeError {
    CallError::Call(CablingError::NotRoot { why }).into()
}

/// The nodes that are named, a lab's, or those of the cluster file.
pub fn members(targets: &RequestedTargets, spec: Option<&ClusterSpec>) -> Result<Fleet, InitError> {
    let names = match (&targets.lab, spec) {
        (Some(lab), _) => lab.selected(&targets.nodes)?,
        (None, _) if !targets.nodes.is_empty() => targets.nodes.clone(),
        (None, Some(spec)) if !spec.nodes.is_empty() => destinations(spec),
        (None, _) => return Err(InitError::NoNodes),
    };
    Ok(Fleet::new(names, &targets.options)?)
}

/// The file is written where something is new.
pub fn discover(
    fleet: &Fleet,
    nodes: &[NodeFacts],
    options: &InitOptions,
) -> Result<CablingDiscovery, InitError> {
    if !options.dry_run {
        // Before anybody waits for cables.
        files::is_writable(options.file)?;
    }
    let spec = options.existing.map(|existing| &existing.spec);
    let (surveys, mut remarks) = listen(fleet, nodes, spec, options.seconds)?;
    let mut wiring = cabling::detect_cabling(&surveys, spec);
    let members: Vec<InitCandidate> = nodes
        .iter()
        .zip(&surveys)
        .map(|(node, survey)| InitCandidate {
            facts: &node.facts,
            destination: &node.destination,
            survey,
        })
        .collect();
    let proposal = propose(&members, &wiring);
    let name = options.name.unwrap_or(DEFAULT_CLUSTER_NAME);
    let mut merged =
        merge(options.existing, name, &proposal, &wiring).map_err(merging(options.file))?;
    remarks.append(&mut merged.notes);
    remarks.append(&mut wiring.notes);
    remarks.sort_by_key(|note| !note.is_problem());
    let is_new = options.existing.is_none() || !merged.added.is_empty();
    let written = is_new && !options.dry_run;
    if written {
        files::replace(options.file, &merged.text)?;
    }
    let found = report::InitReport {
        cables: report::numbered(&wiring.cables, &merged.spec),
        notes: remarks.iter().map(report::InitNote::from).collect(),
        nodes: report::nodes(&surveys, &wiring, &merged.spec),
        file: options.file.display().to_string(),
        written,
        added: merged.added.clone(),
    };
    Ok(CablingDiscovery {
        found,
        merged,
        surveys,
        wiring,
    })
}
