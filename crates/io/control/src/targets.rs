//! The nodes that a command is about: live ones, a lab's, or captures; and the cluster file that goes with them.

use std::path::{Path, PathBuf};

use crosstie_model::{ClusterSpec, spec};
use crosstie_node::capture::CaptureLoadError;
use crosstie_report::suggested_command::CommandVerb;

use crate::{
    CLUSTER_FILE, ClusterFileReadError, ControlEvent, Fleet, FleetError, FleetOptions, NodeReading,
    captured, chain_of, cluster_file,
};

/// How a person names them.
#[derive(Clone)]
pub struct RequestedTargets {
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
    pub spec: ClusterSpec,
}

pub struct ResolvedTargets<S = Option<ClusterSpec>> {
    pub spec: S,
    /// Where that is; absent for the lab's own.
    pub file: Option<PathBuf>,
    pub nodes: TargetNodes,
}

pub enum TargetNodes {
    Live(Fleet),
    Captured(Vec<NodeReading>),
}

#[derive(Debug, thiserror::Error)]
pub enum TargetsError {
    #[error(
        "there is no {CLUSTER_FILE} here: name the nodes, like `. spark-b`, or the file by --cluster; `{init}` writes one"
    )]
    NoClusterFile { init: String },
    #[error("there is no node {name} in this lab; it has {}", .nodes.join(", "))]
    NotInLab { name: String, nodes: Vec<String> },
    #[error("captures cannot be asked")]
    Captures,
    #[error("captures cannot be changed")]
    CapturesUnchanged,
    #[error(transparent)]
    ClusterFile(#[from] ClusterFileReadError),
    #[error(transparent)]
    Capture(#[from] CaptureLoadError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

impl TargetNodes {
    /// Scan keeps what was read, too.
    pub fn read(self) -> Vec<NodeReading> {
        match self {
            Self::Live(fleet) => fleet.read(),
            Self::Captured(readings) => readings,
        }
    }
}

/// A cluster file that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    IsAnError,
    /// A rollback must not hang on a file that is being edited, where it is known without it which nodes are meant.
    IsLeftOut,
}

/// The cluster file that counts, and where it is; absent for a lab's own.
type InForce = (Option<PathBuf>, ClusterSpec);

impl RequestedTargets {
    /// The nodes that are named, the lab's, those of the cluster file, or this machine.
    pub fn find(&self) -> Result<ResolvedTargets, TargetsError> {
        if !self.from.is_empty() {
            // Captures may be anybody's: only a file that was named is about them.
            let spec = self.cluster.as_deref().map(cluster_file::read);
            let spec = spec.transpose()?;
            return Ok(ResolvedTargets {
                spec,
                file: self.cluster.clone(),
                nodes: TargetNodes::Captured(captured(&self.from)?),
            });
        }
        let broken = if self.nodes.is_empty() && self.lab.is_none() {
            Broken::IsAnError
        } else {
            Broken::IsLeftOut
        };
        let (file, spec) = self.in_force(broken)?.unzip();
        let nodes = TargetNodes::Live(self.fleet(spec.as_ref())?);
        Ok(ResolvedTargets {
            spec,
            file: file.flatten(),
            nodes,
        })
    }

    /// As [`RequestedTargets::find`], for what needs a cluster file; captures are of the cluster then.
    pub fn find_planned(&self) -> Result<Option<ResolvedTargets<ClusterSpec>>, TargetsError> {
        let Some((file, spec)) = self.in_force(Broken::IsAnError)? else {
            return Ok(None);
        };
        let nodes = if self.from.is_empty() {
            TargetNodes::Live(self.fleet(Some(&spec))?)
        } else {
            TargetNodes::Captured(captured(&self.from)?)
        };
        Ok(Some(ResolvedTargets { spec, file, nodes }))
    }

    /// Live nodes that are called by name, a lab's, or those of a cluster file; `else_here`, or this machine. Whoever names
    /// nodes needs no file.
    pub fn find_live(&self, else_here: bool) -> Result<(Option<ClusterSpec>, Fleet), TargetsError> {
        let ResolvedTargets { spec, nodes, .. } = self.find()?;
        let is_known = spec.is_some() || self.lab.is_some() || !self.nodes.is_empty();
        if !is_known && !else_here {
            return Err(TargetsError::NoClusterFile {
                init: self.init_command(),
            });
        }
        match nodes {
            TargetNodes::Live(fleet) => Ok((spec, fleet)),
            TargetNodes::Captured(_) => Err(TargetsError::Captures),
        }
    }

    /// What writes a cluster file of these nodes.
    pub(crate) fn init_command(&self) -> String {
        let offer = &self.options.offer;
        let named = self.lab.is_some() || !self.nodes.is_empty();
        let nodes = if named { "" } else { " NODE…" };
        format!("{}{nodes}", offer.command(CommandVerb::Init))
    }

    /// The one rule: the file that is named, else ./cluster.toml, else the lab's own. Which it is is told.
    fn in_force(&self, broken: Broken) -> Result<Option<InForce>, TargetsError> {
        let here = Path::new(CLUSTER_FILE);
        let path = match &self.cluster {
            Some(path) => Some(path.as_path()),
            None => here.exists().then_some(here),
        };
        let read = path.map(|path| Ok((Some(path.to_owned()), cluster_file::read(path)?)));
        let read: Option<Result<InForce, ClusterFileReadError>> = read;
        let found = match read {
            Some(Err(error)) if self.cluster.is_none() && broken == Broken::IsLeftOut => {
                let text = format!("{CLUSTER_FILE} is left out: {}", chain_of(&error));
                self.options.observer.observe(ControlEvent::Notice(&text));
                None
            }
            Some(read) => Some(read?),
            None => None,
        };
        let lab = self.lab.as_ref();
        let found = found.or_else(|| Some((None, lab?.spec.clone())));
        if let Some((file, _)) = &found {
            let file = file.as_deref();
            self.options
                .observer
                .observe(ControlEvent::ClusterFile { file });
        }
        Ok(found)
    }

    fn fleet(&self, spec: Option<&ClusterSpec>) -> Result<Fleet, TargetsError> {
        let chosen = self.nodes.iter().map(|name| by_name(name, spec));
        let chosen: Vec<String> = chosen.collect();
        let chosen = match (&self.lab, spec) {
            (Some(lab), _) => lab.selected(&chosen)?,
            (None, Some(spec)) if chosen.is_empty() => destinations(spec),
            (None, _) => chosen,
        };
        Ok(Fleet::new(chosen, &self.options)?)
    }
}

/// Where the nodes of a cluster file are. Whoever sits on one of them need not have ssh to it.
pub fn destinations(spec: &ClusterSpec) -> Vec<String> {
    spec.nodes.iter().map(destination).collect()
}

fn destination(node: &spec::NodeSpec) -> String {
    let system = rustix::system::uname();
    match &node.ssh {
        None if node.name.as_bytes() == system.nodename().to_bytes() => ".".to_owned(),
        ssh => ssh.as_ref().unwrap_or(&node.name).clone(),
    }
}

/// A node may be called as the cluster file calls it, or as ssh does.
fn by_name(name: &str, spec: Option<&ClusterSpec>) -> String {
    let node = spec.and_then(|spec| spec.node(name));
    node.map_or_else(|| name.to_owned(), destination)
}

impl LabTargets {
    /// Those that were named, or all.
    pub fn selected(&self, named: &[String]) -> Result<Vec<String>, TargetsError> {
        if named.is_empty() {
            return Ok(self.nodes.clone());
        }
        if let Some(stranger) = named.iter().find(|name| !self.nodes.contains(name)) {
            return Err(TargetsError::NotInLab {
                name: stranger.clone(),
                nodes: self.nodes.clone(),
            });
        }
        Ok(named.to_vec())
    }
}
