//! What a log says, for people and programs.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{Facts, Finding};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks,
    message::NcclDevice,
    pairs,
    run::{NcclRun, NodeCount, runs},
    state::{HostId, NcclLogState, ObservationKind},
};

/// What `explain --nccl-log --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NcclLogReport {
    pub transport: NcclTransport,
    /// Physical devices of the networks in use, in the order in which they were listed.
    pub devices: Vec<String>,
    /// Whether the network reads and writes the GPU's memory itself; unknown where no line tells.
    pub gdr: Option<bool>,
    /// Worst first.
    pub findings: Vec<Finding>,
    pub versions: Vec<String>,
    /// Plugins for the network that are not NCCL's own.
    pub plugins: Vec<String>,
    pub runs: Vec<NcclRunReport>,
    pub lines: u64,
    /// Messages of NCCL's among them.
    pub messages: u64,
    /// Ray left out lines that it found alike, so channels may be missing.
    pub ray_merged: bool,
    /// The log named more than is kept; the rest is left out.
    pub truncated: bool,
}

/// Processes that worked together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NcclRunReport {
    pub transport: NcclTransport,
    pub gdr: Option<bool>,
    /// How many machines NCCL counted, or the log shows.
    pub nodes: Option<u32>,
    pub several_nodes: Option<bool>,
    pub ranks: Option<u32>,
    pub hosts: Vec<NcclHost>,
    /// Between nodes, in both directions.
    pub pairs: Vec<NcclPair>,
    /// More pairs than are listed.
    pub pairs_left_out: u64,
    /// Channels inside nodes, by their kind.
    pub within_nodes: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NcclHost {
    #[serde(rename = "host")]
    pub name: String,
    pub ranks: Vec<u32>,
    /// What its processes said they use.
    pub networks: Vec<String>,
    pub devices: Vec<NcclDevice>,
}

/// One direction between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NcclPair {
    pub from: String,
    pub to: String,
    pub routes: Vec<NcclRoute>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NcclRoute {
    /// `NET/IB`, `NET/Socket`, `P2P/MNNVL`.
    pub via: String,
    pub gdr: bool,
    pub channels: u64,
    pub send_devices: Vec<String>,
    pub receive_devices: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NcclTransport {
    Ib,
    Socket,
    Mixed,
    Unknown,
}

impl NcclTransport {
    /// By the name that NCCL or a plugin gives a network. `IBext` and its kin speak verbs too.
    pub(crate) fn of(network: &str) -> Self {
        match network {
            "Socket" => Self::Socket,
            name if name.starts_with("IB") => Self::Ib,
            _ => Self::Unknown,
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, known) | (known, Self::Unknown) => known,
            (one, other) if one == other => one,
            _ => Self::Mixed,
        }
    }
}

impl NcclLogReport {
    pub(crate) fn new(state: &NcclLogState, lines: u64, facts: &[Facts]) -> Self {
        let runs = runs(state, facts);
        let mut findings: Vec<Finding> = runs.iter().flat_map(checks::findings).collect();
        findings.sort_by_key(|finding| finding.severity);
        let reports: Vec<NcclRunReport> = runs.iter().map(NcclRunReport::new).collect();
        let mut devices = Vec::new();
        for name in runs.iter().flat_map(devices_in_use) {
            if !devices.contains(&name) {
                devices.push(name);
            }
        }
        let gdr = reports.iter().filter_map(|run| run.gdr);
        Self {
            transport: reports
                .iter()
                .map(|run| run.transport)
                .fold(NcclTransport::Unknown, NcclTransport::and),
            devices,
            gdr: gdr.reduce(|one, other| one && other),
            findings,
            versions: state.versions.iter().cloned().collect(),
            plugins: plugins(state),
            runs: reports,
            lines,
            messages: state.messages,
            ray_merged: state.ray_merged,
            truncated: state.truncated,
        }
    }
}

/// Libraries that were loaded, and networks that are not NCCL's own.
fn plugins(state: &NcclLogState) -> Vec<String> {
    let names: BTreeSet<&str> = state
        .seen
        .keys()
        .filter_map(|(kind, _)| checks::foreign(state, *kind))
        .collect();
    names.into_iter().map(str::to_owned).collect()
}

fn devices_in_use(run: &NcclRun) -> Vec<String> {
    let transports = match run.transport() {
        NcclTransport::Mixed => vec![NcclTransport::Ib, NcclTransport::Socket],
        one => vec![one],
    };
    let mut names: Vec<String> = Vec::new();
    for transport in transports {
        let lists: BTreeSet<&[NcclDevice]> = run
            .processes
            .iter()
            .map(|id| run.devices(*id, transport))
            .collect();
        for name in lists.into_iter().flatten().flat_map(NcclDevice::parts) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

impl NcclRunReport {
    fn new(run: &NcclRun) -> Self {
        let (pairs, pairs_left_out) = pairs::between(run);
        let hosts = hosts(run);
        let shown = u32::try_from(hosts.len()).ok();
        Self {
            transport: run.transport(),
            gdr: run.gdr(),
            nodes: match run.nodes {
                NodeCount::One => Some(1),
                NodeCount::Many => run.counted.or(shown.filter(|shown| *shown > 1)),
                NodeCount::Unknown => None,
            },
            several_nodes: match run.nodes {
                NodeCount::One => Some(false),
                NodeCount::Many => Some(true),
                NodeCount::Unknown => None,
            },
            ranks: run
                .largest
                .map(|id| run.state.communicators[id as usize].size),
            hosts,
            pairs,
            pairs_left_out,
            within_nodes: pairs::within(run),
        }
    }
}

fn hosts(run: &NcclRun) -> Vec<NcclHost> {
    let mut hosts: BTreeMap<HostId, NcclHost> = BTreeMap::new();
    for process in &run.processes {
        let id = run.state.processes[*process as usize].host;
        let host = hosts.entry(id).or_insert_with(|| NcclHost {
            name: run.state.hosts.get(id).to_owned(),
            ranks: Vec::new(),
            networks: Vec::new(),
            devices: Vec::new(),
        });
        for transport in [NcclTransport::Ib, NcclTransport::Socket] {
            for device in run.devices(*process, transport) {
                if !host.devices.contains(device) {
                    host.devices.push(device.clone());
                }
            }
        }
    }
    for (kind, id, _) in run.seen(|kind| matches!(kind, ObservationKind::Network(_))) {
        if let (ObservationKind::Network(name), Some(host)) = (kind, hosts.get_mut(&id)) {
            let name = run.state.names.get(name);
            if !host.networks.iter().any(|known| known == name) {
                host.networks.push(name.to_owned());
            }
        }
    }
    let ranks = run
        .largest
        .map(|id| &run.state.communicators[id as usize].hosts);
    for (rank, id) in ranks.into_iter().flatten() {
        if let Some(host) = hosts.get_mut(id) {
            host.ranks.push(*rank);
        }
    }
    let mut hosts: Vec<NcclHost> = hosts.into_values().collect();
    hosts.sort_by(|one, other| one.name.cmp(&other.name));
    hosts
}
