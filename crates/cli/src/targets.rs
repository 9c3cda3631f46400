//! The nodes that a command is about: live ones, a lab's, or captures; and the cluster file that goes with them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ColorChoice;
use crosstie_facts::Raw;
use crosstie_model::Spec;
use crosstie_node::capture;

use crate::{
    args::Targets,
    lab::{self, LabCluster},
    nodes::Fleet,
};

/// What was read of one node, or why nothing was.
pub(crate) type Reading = (String, Result<Raw, String>);

pub(crate) struct Found {
    pub(crate) spec: Option<Spec>,
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
    let reach = &targets.reach;
    let (names, ssh_config) = match (lab, &spec) {
        (
            Some(LabCluster {
                nodes, ssh_config, ..
            }),
            _,
        ) => (nodes, Some(ssh_config)),
        (None, Some(spec)) if targets.nodes.is_empty() && !spec.nodes.is_empty() => {
            (destinations(spec), reach.ways.ssh_config.clone())
        }
        (None, _) => (targets.nodes.clone(), reach.ways.ssh_config.clone()),
    };
    let fleet = Fleet::new(names, ssh_config.as_deref(), reach, colour)?;
    Ok(Found {
        spec,
        nodes: Nodes::Live(fleet),
    })
}

/// Where the nodes of a cluster file are. Whoever sits on one of them need not have ssh to it.
pub(crate) fn destinations(spec: &Spec) -> Vec<String> {
    let here = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let nodes = spec.nodes.iter();
    nodes
        .map(|node| match &node.ssh {
            None if node.name == here => ".".to_owned(),
            ssh => ssh.as_ref().unwrap_or(&node.name).clone(),
        })
        .collect()
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
