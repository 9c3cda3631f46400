//! What `crosstie scan` says of a node. One value feeds the JSON, its schema and the terminal.

mod build;
mod hints;
mod overview;
mod view;

use crosstie_model::facts::net::Manager;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::document::{closed_schema, property};

pub use build::node;
pub use hints::ScanHints;
pub use view::view;

/// One element of `scan --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ScanResult {
    Node(Box<ScannedNode>),
    /// The node could not be scanned.
    Failed {
        host: String,
        error: String,
    },
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScannedNode {
    pub host: String,
    /// The capture that it was read from; none for a live node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What it was called on the command line; none for this machine and for captures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<String>,
    /// As the kernel names it: `aarch64`, `x86_64`.
    pub arch: Option<String>,
    pub vendor: Option<String>,
    pub product: Option<String>,
    pub distro: Option<String>,
    pub kernel: Option<String>,
    pub cpus: Option<u32>,
    pub memory_bytes: Option<u64>,
    /// One element a port of an RDMA device.
    pub rdma: Vec<ScannedRdmaPort>,
    pub cages: Vec<ScannedCage>,
    pub gpus: Vec<ScannedGpu>,
    pub gpu_driver: Option<String>,
    pub cuda: Option<String>,
    /// Interfaces that a person depends on to reach the node.
    pub management: Vec<String>,
    /// Every interface but the loopback.
    pub interfaces: Vec<ScannedInterface>,
    pub drivers: Vec<ScannedDriver>,
    /// What could not be read, and why.
    pub unread: Vec<ScannedGap>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScannedRdmaPort {
    pub name: String,
    pub port: u32,
    pub netdev: Option<String>,
    pub pci: Option<String>,
    pub guid: Option<String>,
    pub firmware: Option<String>,
    pub board: Option<String>,
    /// Soft-RoCE and its like: no card behind it.
    pub software: bool,
    /// `ACTIVE`, `DOWN`, `INIT`, …
    pub state: Option<String>,
    /// `LinkUp`, `Disabled`, `Polling`, …
    pub physical_state: Option<String>,
    /// `Ethernet` or `InfiniBand`.
    pub link_layer: Option<String>,
    pub rate_gbps: Option<f64>,
    /// Of the network interface.
    pub mtu: Option<u32>,
    /// Of RDMA packets, derived from it.
    pub path_mtu: Option<u32>,
    /// Entries of the GID table that hold something.
    pub gids: Vec<ScannedGid>,
    pub addresses: Vec<String>,
    pub pcie: Option<ScannedPcie>,
    /// The cage that it serves; none for virtual functions.
    pub cage: Option<String>,
    /// Payload in one direction, of this port by itself; only while it is active.
    pub ceiling_gbps: Option<f64>,
    pub limit: Option<String>,
    /// Queue pairs that user programs now hold.
    pub user_queue_pairs: Option<u32>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScannedGid {
    pub index: u32,
    pub gid: String,
    /// `IB/RoCE v1` or `RoCE v2`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub netdev: Option<String>,
}

/// The function's own link, and what the narrowest link up to the root carries.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScannedPcie {
    pub gt_per_s: Option<f64>,
    pub width: Option<u32>,
    pub max_width: Option<u32>,
    /// Payload bandwidth of the narrowest link between the function and the root.
    pub gbps: Option<f64>,
    /// Whose link that is.
    pub narrowest: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScannedCage {
    pub id: String,
    /// RDMA devices behind it: one, or twins.
    pub members: Vec<String>,
    pub active: bool,
    /// Payload in one direction, of the active members together.
    pub ceiling_gbps: Option<f64>,
    /// What binds: `port-rate` or `pcie`.
    pub limit: Option<String>,
    /// How the members were found to belong together: `spec`, `driver`, `chip` or `alone`.
    pub grouping: &'static str,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScannedGpu {
    pub name: String,
    pub pci: Option<String>,
    /// Absent where CPU and GPU share one memory.
    pub memory_bytes: Option<u64>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScannedInterface {
    pub name: String,
    pub mac: Option<String>,
    pub state: Option<String>,
    pub speed_mbps: Option<u64>,
    pub mtu: Option<u32>,
    pub addresses: Vec<String>,
    pub default_route: bool,
    /// The ssh connection that we came by ends here.
    pub ssh: bool,
    #[schemars(description = managers())]
    pub manager: &'static str,
}

/// All words that an interface's manager has.
fn managers() -> String {
    let names = Manager::ALL.iter();
    let names: Vec<String> = names.map(|one| format!("`{}`", one.name())).collect();
    let (last, others) = names
        .split_last()
        .map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
    format!("{} or {last}.", others.join(", "))
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScannedDriver {
    pub name: String,
    pub version: Option<String>,
    /// `module`, `package` or `library`.
    pub kind: &'static str,
    /// Where it comes from: in-tree or not, or the path.
    pub origin: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScannedGap {
    pub what: String,
    pub why: String,
    /// Running as root would have read it.
    pub root_would: bool,
}

/// The JSON schema of `scan --json`.
pub fn schema() -> schemars::Schema {
    let mut schema = closed_schema::<Vec<ScanResult>>();
    let named = schema
        .as_object_mut()
        .and_then(|root| root.get_mut("$defs"));
    let node = named.and_then(|named| named.get_mut(&*ScannedNode::schema_name()));
    if let Some(node) = node.and_then(Value::as_object_mut) {
        let facts = json!({
            "type": "object",
            "description": "With --facts: everything that was read, as this build knows it."
        });
        property(node, "facts", facts, false);
    }
    schema
}
