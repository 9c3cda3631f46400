//! The nodes that a command is about: live ones, a lab's, or captures; and the cluster file that goes with them.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ColorChoice;
use crosstie_facts::Raw;
use crosstie_model::{Spec, spec};
use crosstie_node::capture;

use crate::{
    args::Targets,
    lab::{self, LabCluster},
    nodes::Fleet,
};

/// What was read of one node, or why nothing was.
pub(crate) type Reading = (String, Result<Raw, String>);

/// Where a cluster file is, unless one is named.
pub(crate) const CLUSTER: &str = "cluster.toml";

pub(crate) struct Found<S = Option<Spec>> {
    pub(crate) spec: S,
    pub(crate) nodes: Nodes,
}

pub(crate) enum Nodes {
    Live(Fleet),
    Captured(Vec<Reading>),
}

impl Nodes {
    pub(crate) fn read(self) -> Vec<Reading> {
        match self {
            Self::Live(fleet) => fleet.read(),
            Self::Captured(readings) => readings,
        }
    }
}

pub(crate) fn find(targets: &Targets, colour: ColorChoice) -> anyhow::Result<Found> {
    let lab = targets.lab.as_deref().map(lab::cluster).transpose()?;
    let spec = match (&targets.cluster, &lab) {
        (Some(path), _) => Some(cluster_file(path)?),
        (None, lab) => lab.as_ref().map(|lab| lab.spec.clone()),
    };
    if !targets.from.is_empty() {
        let nodes = Nodes::Captured(captured(&targets.from)?);
        return Ok(Found { spec, nodes });
    }
    let reach = match &lab {
        Some(lab) => lab.reach(&targets.reach),
        None => targets.reach.clone(),
    };
    let names = match (lab, &spec) {
        (Some(LabCluster { nodes, .. }), _) => among(&targets.nodes, nodes)?,
        (None, Some(spec)) if targets.nodes.is_empty() && !spec.nodes.is_empty() => {
            destinations(spec)
        }
        (None, spec) => {
            let names = targets.nodes.iter();
            names.map(|name| by_name(name, spec.as_ref())).collect()
        }
    };
    let fleet = Fleet::new(names, &reach, colour)?;
    Ok(Found {
        spec,
        nodes: Nodes::Live(fleet),
    })
}

/// Live nodes that are called by name, or those of a cluster file; `else_here`, or this machine. Whoever names nodes needs
/// no file.
pub(crate) fn existing(
    targets: &Targets,
    else_here: bool,
    colour: ColorChoice,
) -> anyhow::Result<(Option<Spec>, Fleet)> {
    let mut targets = targets.clone();
    let path = Path::new(CLUSTER);
    if targets.cluster.is_none() && targets.lab.is_none() {
        let is_named = !targets.nodes.is_empty();
        if path.exists() {
            targets.cluster = Some(path.to_owned());
        } else if !is_named && !else_here {
            bail!(
                "there is no {CLUSTER} here: name the nodes, like `. spark-b`, or the file by --cluster"
            );
        }
        if is_named
            && let Err(error) = cluster_file(path)
            && path.exists()
        {
            // A way back must not hang on a file that is being edited.
            tracing::warn!("{CLUSTER} is left out: {error:#}");
            targets.cluster = None;
        }
    }
    let Found { spec, nodes } = find(&targets, colour)?;
    match nodes {
        Nodes::Live(fleet) => Ok((spec, fleet)),
        Nodes::Captured(_) => bail!("captures cannot be asked"),
    }
}

/// Where the nodes of a cluster file are. Whoever sits on one of them need not have ssh to it.
pub(crate) fn destinations(spec: &Spec) -> Vec<String> {
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
fn among(named: &[String], all: Vec<String>) -> anyhow::Result<Vec<String>> {
    if named.is_empty() {
        return Ok(all);
    }
    if let Some(stranger) = named.iter().find(|name| !all.contains(name)) {
        bail!(
            "there is no node {stranger} in this lab; it has {}",
            all.join(", ")
        );
    }
    Ok(named.to_vec())
}

fn cluster_file(path: &Path) -> anyhow::Result<Spec> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the cluster file {}", path.display()))?;
    Spec::from_toml(&text).with_context(|| format!("cannot use {}", path.display()))
}

/// What captures hold, by their names.
pub(crate) fn captured(paths: &[PathBuf]) -> anyhow::Result<Vec<Reading>> {
    let mut readings = Vec::new();
    for path in paths {
        for loaded in capture::load(path)? {
            let name = loaded.path.file_name().unwrap_or(loaded.path.as_os_str());
            let raw = loaded
                .raw
                .map_err(|error| format!("{:#}", anyhow::Error::from(error)));
            readings.push((name.to_string_lossy().into_owned(), raw));
        }
    }
    Ok(readings)
}
