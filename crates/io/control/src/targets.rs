//! The nodes that a command is about: live ones, a lab's, or captures; and the cluster file that goes with them.

use std::path::{Path, PathBuf};

use crosstie_model::{Spec, spec};
use crosstie_node::capture::LoadError;

use crate::{
    CLUSTER_FILE, ClusterFileError, Fleet, FleetError, FleetOptions, NodeReading, captured,
    chain_of, cluster_file,
};

/// How a person names them.
#[derive(Clone)]
pub struct Targets {
    pub nodes: Vec<String>,
    /// Captures instead of live nodes.
    pub from: Vec<PathBuf>,
    pub cluster: Option<PathBuf>,
    pub lab: Option<LabTargets>,
    pub options: FleetOptions,
}

/// What a running lab stands for.
#[derive(Debug, Clone)]
pub struct LabTargets {
    pub nodes: Vec<String>,
    pub spec: Spec,
}

pub struct Found<S = Option<Spec>> {
    pub spec: S,
    pub nodes: Nodes,
}

pub enum Nodes {
    Live(Fleet),
    Captured(Vec<NodeReading>),
}

#[derive(Debug, thiserror::Error)]
pub enum TargetsError {
    #[error(
        "there is no {CLUSTER_FILE} here: name the nodes, like `. spark-b`, or the file by --cluster"
    )]
    NoClusterFile,
    #[error("there is no node {name} in this lab; it has {}", .nodes.join(", "))]
    NotInLab { name: String, nodes: Vec<String> },
    #[error("captures cannot be asked")]
    Captures,
    #[error("captures cannot be changed")]
    CapturesUnchanged,
    #[error(transparent)]
    ClusterFile(#[from] ClusterFileError),
    #[error(transparent)]
    Capture(#[from] LoadError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

impl Nodes {
    /// Scan keeps what was read, too.
    pub fn read(self) -> Vec<NodeReading> {
        match self {
            Self::Live(fleet) => fleet.read(),
            Self::Captured(readings) => readings,
        }
    }
}

impl Targets {
    pub fn find(&self) -> Result<Found, TargetsError> {
        let spec = match (&self.cluster, &self.lab) {
            (Some(path), _) => Some(cluster_file::read(path)?),
            (None, lab) => lab.as_ref().map(|lab| lab.spec.clone()),
        };
        if !self.from.is_empty() {
            let nodes = Nodes::Captured(captured(&self.from)?);
            return Ok(Found { spec, nodes });
        }
        let names = match (&self.lab, &spec) {
            (Some(lab), _) => among(&self.nodes, &lab.nodes)?,
            (None, Some(spec)) if self.nodes.is_empty() && !spec.nodes.is_empty() => {
                destinations(spec)
            }
            (None, spec) => {
                let names = self.nodes.iter();
                names.map(|name| by_name(name, spec.as_ref())).collect()
            }
        };
        let nodes = Nodes::Live(Fleet::new(names, &self.options)?);
        Ok(Found { spec, nodes })
    }

    /// Live nodes that are called by name, or those of a cluster file; `else_here`, or this machine. Whoever names nodes
    /// needs no file.
    pub fn find_live(&self, else_here: bool) -> Result<(Option<Spec>, Fleet), TargetsError> {
        let mut targets = self.clone();
        let path = Path::new(CLUSTER_FILE);
        if targets.cluster.is_none() && targets.lab.is_none() {
            let is_named = !targets.nodes.is_empty();
            if path.exists() {
                targets.cluster = Some(path.to_owned());
            } else if !is_named && !else_here {
                return Err(TargetsError::NoClusterFile);
            }
            if is_named
                && let Err(error) = cluster_file::read(path)
                && path.exists()
            {
                // A rollback must not hang on a file that is being edited.
                tracing::warn!("{CLUSTER_FILE} is left out: {}", chain_of(&error));
                targets.cluster = None;
            }
        }
        let Found { spec, nodes } = targets.find()?;
        match nodes {
            Nodes::Live(fleet) => Ok((spec, fleet)),
            Nodes::Captured(_) => Err(TargetsError::Captures),
        }
    }
}

/// Where the nodes of a cluster file are. Whoever sits on one of them need not have ssh to it.
pub fn destinations(spec: &Spec) -> Vec<String> {
    spec.nodes.iter().map(destination).collect()
}

fn destination(node: &spec::Node) -> String {
    let system = rustix::system::uname();
    match &node.ssh {
        None if node.name.as_bytes() == system.nodename().to_bytes() => ".".to_owned(),
        ssh => ssh.as_ref().unwrap_or(&node.name).clone(),
    }
}

/// A node may be called as the cluster file calls it, or as ssh does.
fn by_name(name: &str, spec: Option<&Spec>) -> String {
    let node = spec.and_then(|spec| spec.node(name));
    node.map_or_else(|| name.to_owned(), destination)
}

/// Those that were named, or all.
fn among(named: &[String], all: &[String]) -> Result<Vec<String>, TargetsError> {
    if named.is_empty() {
        return Ok(all.to_vec());
    }
    if let Some(stranger) = named.iter().find(|name| !all.contains(name)) {
        return Err(TargetsError::NotInLab {
            name: stranger.clone(),
            nodes: all.to_vec(),
        });
    }
    Ok(named.to_vec())
}
