//! What a lab is made of, as data: nodes, their cards, and the cables between them.

mod check;
mod file;
mod shipped;

pub(crate) use check::MANAGEMENT_OFFSET;

use std::collections::BTreeSet;

use crosstie_model::spec::nearest;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::arch::Arch;

pub use shipped::{SHIPPED, shipped};

/// A checked profile: every reference resolves, every name fits its use, no two things share a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabProfile {
    pub name: String,
    pub description: String,
    pub nodes: Vec<LabNode>,
    pub segments: Vec<ProfileSegment>,
    pub infiniband: Option<InfinibandFabric>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabNode {
    pub name: String,
    pub arch: Arch,
    pub memory_mib: u32,
    pub vcpus: u8,
    pub network: NodeNetworkManager,
    pub sudo: SudoMode,
    /// The name of the management interface.
    pub management: String,
    pub cages: Vec<LabCage>,
    /// What the node is like where it runs as a container.
    #[serde(default, skip_serializing_if = "ContainerConditions::is_plain")]
    pub container: ContainerConditions,
}

/// Conditions that a container can be put into and an emulated machine cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerConditions {
    /// `CLOCK_BOOTTIME` is this far ahead of `CLOCK_MONOTONIC`, as on a machine that was suspended for so long.
    #[serde(default)]
    pub slept_seconds: u32,
    /// What systemd is told it runs in (`container=`); without it, it takes the node for a machine.
    #[serde(default)]
    pub manager: Option<String>,
    /// Everything that the node writes fits into this much; without it, into what the host has left.
    #[serde(default)]
    pub disk_mib: Option<u32>,
}

impl ContainerConditions {
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// Who configures the node's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeNetworkManager {
    NetworkManager,
    Networkd,
}

/// How the node's user becomes root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SudoMode {
    Free,
    Password,
}

/// One socket for a cable; all its NICs ("twins") share the L2 port behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabCage {
    pub name: String,
    pub nics: Vec<LabNic>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabNic {
    pub netdev: String,
    /// The Soft-RoCE device on top; a NIC without RDMA leaves it out.
    pub rdma: Option<String>,
    pub bus: u8,
    pub function: u8,
    /// Last byte of the MAC address; a Spark's four functions have +0, +1, +4 and +5.
    pub mac_offset: u8,
    #[serde(default = "default_speed")]
    pub speed_mbps: u32,
}

const fn default_speed() -> u32 {
    200_000
}

/// An L2 segment: a cable has two ends, a switch any number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileSegment {
    pub name: String,
    pub kind: SegmentKind,
    pub ends: Vec<LabCageRef>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentKind {
    Cable,
    Switch,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LabCageRef {
    pub node: String,
    pub cage: String,
}

/// A simulated InfiniBand fabric: `ibsim` with `opensm` on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InfinibandFabric {
    /// The node that runs the simulator.
    pub node: String,
    /// The fabric in ibsim's own topology format (`ibnetdiscover` output).
    pub topology: String,
    /// The host of that topology as which the node's tools act.
    pub host: String,
}

#[derive(Debug, Error)]
pub enum ProfileError {
    #[error(
        "no profile named \"{name}\"{} Shipped are {}. A path to a TOML file works too",
        suggestion(name),
        SHIPPED.map(|(name, _)| name).join(", ")
    )]
    Unknown { name: String },
    #[error("cannot read the profile {path}")]
    Read {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("profile \"{profile}\" is not valid")]
    Syntax {
        profile: String,
        #[source]
        source: Box<toml::de::Error>,
    },
    #[error("profile \"{profile}\": {place}: {problem}")]
    Invalid {
        profile: String,
        place: String,
        problem: String,
    },
}

fn suggestion(name: &str) -> String {
    let known = SHIPPED.iter().map(|(known, _)| *known);
    nearest(name, known).map_or_else(
        || ".".to_owned(),
        |known| format!(": did you mean {known}?"),
    )
}

impl LabProfile {
    /// Parses and checks a profile; `name` is what the lab and its errors call it.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        let file: file::ProfileFile =
            toml::from_str(text).map_err(|source| ProfileError::Syntax {
                profile: name.to_owned(),
                source: Box::new(source),
            })?;
        file.resolve(name).map_err(|problem| ProfileError::Invalid {
            profile: name.to_owned(),
            place: problem.place,
            problem: problem.text,
        })
    }

    /// A shipped profile by name, or a TOML file by path.
    pub fn find(name_or_path: &str) -> Result<Self, ProfileError> {
        if let Some(text) = shipped(name_or_path) {
            return Self::parse(name_or_path, text);
        }
        let path = std::path::Path::new(name_or_path);
        if !name_or_path.contains('/') && path.extension().is_none_or(|ext| ext != "toml") {
            return Err(ProfileError::Unknown {
                name: name_or_path.to_owned(),
            });
        }
        let text = std::fs::read_to_string(path).map_err(|source| ProfileError::Read {
            path: name_or_path.to_owned(),
            source,
        })?;
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        Self::parse(stem.unwrap_or("profile"), &text)
    }

    pub fn node(&self, name: &str) -> Option<&LabNode> {
        self.nodes.iter().find(|node| node.name == name)
    }

    pub fn segment_of(&self, end: &LabCageRef) -> Option<&ProfileSegment> {
        self.segments
            .iter()
            .find(|segment| segment.ends.contains(end))
    }

    /// The architectures of its nodes, each once.
    pub(crate) fn architectures(&self) -> BTreeSet<Arch> {
        self.nodes.iter().map(|node| node.arch).collect()
    }

    pub fn memory_mib(&self) -> u64 {
        self.nodes
            .iter()
            .map(|node| u64::from(node.memory_mib))
            .sum()
    }
}

impl LabNode {
    pub fn nics(&self) -> impl Iterator<Item = (&LabCage, &LabNic)> {
        self.cages
            .iter()
            .flat_map(|cage| cage.nics.iter().map(move |nic| (cage, nic)))
    }

    /// The cage that `port` names: by its own name, or by a netdev or RDMA device of it.
    pub fn cage_of(&self, port: &str) -> Option<&LabCage> {
        self.cages.iter().find(|cage| {
            cage.name == port
                || cage
                    .nics
                    .iter()
                    .any(|nic| nic.netdev == port || nic.rdma.as_deref() == Some(port))
        })
    }

    pub fn cage_ref(&self, cage: &LabCage) -> LabCageRef {
        LabCageRef {
            node: self.name.clone(),
            cage: cage.name.clone(),
        }
    }
}

impl std::fmt::Display for LabCageRef {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.node, self.cage)
    }
}

#[cfg(test)]
mod tests;
