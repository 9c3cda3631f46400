//! The TOML form, and its resolution into a [`LabProfile`].

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::arch::Arch;

use super::check::{ProfileProblem, check};
use super::{
    ContainerConditions, InfinibandFabric, LabCage, LabCageRef, LabNic, LabNode, LabProfile,
    NodeNetworkManager, ProfileSegment, SegmentKind, SudoMode,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileFile {
    description: String,
    #[serde(default)]
    kind: BTreeMap<String, Kind>,
    #[serde(default)]
    node: Vec<NodeEntry>,
    #[serde(default)]
    cable: Vec<CableEntry>,
    #[serde(default)]
    switch: Vec<SwitchEntry>,
    infiniband: Option<InfinibandFabric>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    /// This machine's where nothing is said.
    #[serde(default)]
    arch: Arch,
    memory_mib: u32,
    vcpus: u8,
    network: NodeNetworkManager,
    sudo: SudoMode,
    management: String,
    #[serde(default)]
    cage: Vec<CageEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CageEntry {
    name: String,
    nics: Vec<LabNic>,
}

/// A node is of a kind, and may differ from it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeEntry {
    name: String,
    kind: String,
    arch: Option<Arch>,
    memory_mib: Option<u32>,
    vcpus: Option<u8>,
    network: Option<NodeNetworkManager>,
    sudo: Option<SudoMode>,
    #[serde(default)]
    container: ContainerConditions,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CableEntry {
    ends: [String; 2],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchEntry {
    name: String,
    ports: Vec<String>,
}

impl ProfileFile {
    pub(super) fn resolve(self, name: &str) -> Result<LabProfile, ProfileProblem> {
        let mut nodes = Vec::new();
        for entry in &self.node {
            nodes.push(self.node(entry)?);
        }
        let mut segments = Vec::new();
        for (index, cable) in self.cable.iter().enumerate() {
            let name = format!("cable-{}", index + 1);
            segments.push(segment(name, SegmentKind::Cable, &cable.ends)?);
        }
        for switch in &self.switch {
            segments.push(segment(
                switch.name.clone(),
                SegmentKind::Switch,
                &switch.ports,
            )?);
        }
        let profile = LabProfile {
            name: name.to_owned(),
            description: self.description,
            nodes,
            segments,
            infiniband: self.infiniband,
        };
        check(&profile)?;
        Ok(profile)
    }

    fn node(&self, entry: &NodeEntry) -> Result<LabNode, ProfileProblem> {
        let place = format!("node \"{}\"", entry.name);
        let kind = self.kind.get(&entry.kind).ok_or_else(|| {
            let known: Vec<&str> = self.kind.keys().map(String::as_str).collect();
            ProfileProblem::new(
                place,
                format!(
                    "kind \"{}\" is not defined here (defined: {})",
                    entry.kind,
                    known.join(", ")
                ),
            )
        })?;
        Ok(LabNode {
            name: entry.name.clone(),
            arch: entry.arch.unwrap_or(kind.arch),
            memory_mib: entry.memory_mib.unwrap_or(kind.memory_mib),
            vcpus: entry.vcpus.unwrap_or(kind.vcpus),
            network: entry.network.unwrap_or(kind.network),
            sudo: entry.sudo.unwrap_or(kind.sudo),
            management: kind.management.clone(),
            cages: kind.cage.iter().map(CageEntry::cage).collect(),
            container: entry.container.clone(),
        })
    }
}

impl CageEntry {
    fn cage(&self) -> LabCage {
        LabCage {
            name: self.name.clone(),
            nics: self.nics.clone(),
        }
    }
}

fn segment(
    name: String,
    kind: SegmentKind,
    ends: &[String],
) -> Result<ProfileSegment, ProfileProblem> {
    let ends = ends
        .iter()
        .map(|end| {
            let (node, cage) = end.split_once(':').ok_or_else(|| {
                ProfileProblem::new(
                    name.clone(),
                    format!("\"{end}\" is not of the form NODE:CAGE"),
                )
            })?;
            Ok(LabCageRef {
                node: node.to_owned(),
                cage: cage.to_owned(),
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(ProfileSegment { name, kind, ends })
}
