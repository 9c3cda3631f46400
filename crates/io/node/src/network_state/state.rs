//! What is kept. Every field has a default, and fields that are not known are passed over: journals of other versions stay
//! readable. A part that is `None` was not read and is left alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::raw_message::{HexBytes, RawMessage};

/// What a snapshot covers, and so what a restore may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotScope {
    /// What belongs to these interfaces, by name. No link is created or deleted.
    Interfaces(Vec<String>),
    Everything,
}

/// Covers nothing.
impl Default for SnapshotScope {
    fn default() -> Self {
        Self::Interfaces(Vec::new())
    }
}

/// A node's runtime network state, in one network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkState {
    pub(super) scope: SnapshotScope,
    /// The kernel's number for this boot. In another one, links have other indexes, and everything was made anew: then only
    /// a snapshot of some interfaces is restored.
    pub(super) boot: String,
    /// All of them, whatever the scope: routes and masters name links by index.
    pub(super) links: Option<Vec<SavedLink>>,
    pub(super) addresses: Option<Vec<SavedAddress>>,
    pub(super) next_hops: Option<Vec<RawMessage>>,
    pub(super) routes: Option<Vec<SavedRoute>>,
    pub(super) rules: Option<Vec<RawMessage>>,
    /// By interface (`all` and `default` among them), then by path, such as `ipv4/conf/arp_ignore`.
    pub(super) sysctls: BTreeMap<String, BTreeMap<String, String>>,
    /// `nft -s list ruleset`, by table.
    pub(super) nftables: Option<BTreeMap<String, String>>,
    /// `iptables-legacy-save` without counters, by table.
    pub(super) iptables: Option<BTreeMap<String, String>>,
    pub(super) ip6tables: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SavedLink {
    pub(super) name: String,
    pub(super) index: u32,
    /// `veth`, `bridge`, …; empty for hardware and the loopback.
    pub(super) kind: String,
    pub(super) mac: HexBytes,
    /// The card's own, where it differs or the driver tells it.
    pub(super) permanent_mac: HexBytes,
    pub(super) up: bool,
    pub(super) mtu: u32,
    pub(super) options: LinkOptions,
    /// Index of the bridge, bond or VRF that it belongs to.
    pub(super) master: Option<u32>,
    /// Index of the link below, or a veth's peer.
    pub(super) parent: Option<u32>,
    /// That index is another network namespace's.
    pub(super) parent_elsewhere: bool,
    /// `IFLA_INFO_DATA`: the settings of its kind.
    pub(super) settings: HexBytes,
    /// `IFLA_INFO_SLAVE_DATA` of a bridge's port.
    pub(super) port_settings: HexBytes,
}

/// What `ip link set` changes besides. `None` was not read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LinkOptions {
    /// Of `OPTION_FLAGS` alone.
    pub(super) flags: Option<u32>,
    pub(super) transmit_queue: Option<u32>,
    pub(super) group: Option<u32>,
    pub(super) alias: Option<HexBytes>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SavedAddress {
    /// Without lifetimes and what the kernel finds out by itself.
    pub(super) message: RawMessage,
    /// Seconds; `None` is for ever.
    pub(super) valid: Option<u32>,
    pub(super) preferred: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SavedRoute {
    pub(super) message: RawMessage,
    /// Seconds; `None` is never.
    pub(super) expires: Option<u32>,
    /// It came with an address. Missing ones are added; others are never deleted.
    pub(super) by_kernel: bool,
}
