//! What a run was taken of: nodes, versions, cabling, options.

use serde::{Deserialize, Serialize};

use super::MeasuredEnd;
use crate::{
    Cable, Gbps, Mtu,
    facts::{pci::LinkSpeed, rdma::LinkLayer},
};

/// The first line of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    pub format: u32,
    /// The controller's clock when it began: `2026-11-01T12:00:00Z`.
    pub started: String,
    /// Version of Crosstie.
    pub crosstie: String,
    /// The name in the cluster file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    pub options: RunOptions,
    pub nodes: Vec<RunNode>,
    pub cabling: Vec<Cable>,
    /// Ports that reach each other, in groups: the two ends of a cable, or all on a switch plane. Every two ports of a
    /// group that are on different nodes are a path; a path that no measurement is about was not tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Vec<MeasuredEnd>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    pub mode: ProofMode,
    /// How long one test measures.
    pub test_milliseconds: u32,
    /// Message sizes of bandwidth tests.
    pub sizes: Vec<u64>,
    /// Numbers of queue pairs that were to be tried; the best one is graded.
    pub queue_pairs: Vec<u32>,
    /// What the cluster file says a port should carry: the measure for software devices in a lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_gbps: Option<Gbps>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ProofMode {
    /// One matching, then suspects against nodes that passed.
    Quick,
    /// Every pair.
    Full,
    /// Full, then traffic for so long.
    Soak { seconds: u64 },
}

/// What a report says of a node, and what a later run is compared with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunNode {
    pub host: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distro: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Version of the card's kernel driver, where it is not the kernel's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma_driver: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma_core: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_driver: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
    /// Versions of libnccl that were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nccl: Vec<String>,
    /// The kernel log says that its card was started by plugging in the cable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hot_plugged: bool,
    pub ports: Vec<RunPort>,
}

/// One RDMA port, with what bounds its bandwidth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPort {
    pub device: String,
    pub port: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Where its cable goes in; twins share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cage: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Verbs in the kernel over any interface: no physics to measure it by.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub software: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_layer: Option<LinkLayer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_gbps: Option<Gbps>,
    /// Of its interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_mtu: Option<Mtu>,
    /// What its queue pairs can use at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_mtu: Option<Mtu>,
    /// Bytes on the wire around the payload of one packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_bytes: Option<u32>,
    /// PCI Express links from the root down to the card; empty where they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pcie: Vec<RunPcieLink>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPcieLink {
    /// The PCI address of the device at its lower end. Ports with the same one share the link.
    pub at: String,
    pub speed: LinkSpeed,
    pub width: u32,
    /// Payload that it carries.
    pub gbps: Gbps,
}
