//! Channels, gathered by the nodes that they join.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    report::{NcclPair, NcclRoute, NcclTransport},
    run::NcclRun,
    state::{NameId, RankLink, RankLinkPath},
};

/// All pairs of 90 nodes in both directions.
const MAX_PAIRS: usize = 8192;

#[derive(Default)]
struct Gathered {
    sent: u64,
    received: u64,
    /// By their numbers, which is the order that people list them in.
    send_devices: BTreeSet<(u32, String)>,
    receive_devices: BTreeSet<(u32, String)>,
}

/// The pairs of nodes, and how many more there are.
pub(crate) fn between(run: &NcclRun) -> (Vec<NcclPair>, u64) {
    let mut pairs: BTreeMap<(String, String), BTreeMap<(NameId, bool), Gathered>> = BTreeMap::new();
    let mut left_out = BTreeSet::new();
    for (link, count) in run
        .links
        .iter()
        .filter(|(link, _)| !run.is_within_node(link))
    {
        let ends = (end(run, link, link.from), end(run, link, link.to));
        if pairs.len() >= MAX_PAIRS && !pairs.contains_key(&ends) {
            left_out.insert(ends);
            continue;
        }
        let (name, gdr) = match link.way {
            RankLinkPath::Net { network, gdr, .. } => (network, gdr),
            RankLinkPath::Memory(kind) => (kind, false),
        };
        let route = pairs
            .entry(ends)
            .or_default()
            .entry((name, gdr))
            .or_default();
        let (told, devices) = if link.receive {
            (&mut route.received, &mut route.receive_devices)
        } else {
            (&mut route.sent, &mut route.send_devices)
        };
        *told += count;
        devices.extend(device(run, link));
    }
    let pairs = pairs.into_iter().map(|((from, to), routes)| NcclPair {
        from,
        to,
        routes: routes
            .into_iter()
            .map(|(key, gathered)| route(run, key, gathered))
            .collect(),
    });
    (pairs.collect(), left_out.len() as u64)
}

fn route(run: &NcclRun, (name, gdr): (NameId, bool), gathered: Gathered) -> NcclRoute {
    let name = run.state.names.get(name);
    let memory = name.starts_with("P2P") || name.starts_with("SHM");
    NcclRoute {
        via: if memory {
            name.to_owned()
        } else {
            format!("NET/{name}")
        },
        gdr,
        // Both ends tell of each; one of them may be missing from the log.
        channels: gathered.sent.max(gathered.received),
        send_devices: names(gathered.send_devices),
        receive_devices: names(gathered.receive_devices),
    }
}

fn names(devices: BTreeSet<(u32, String)>) -> Vec<String> {
    devices.into_iter().map(|(_, name)| name).collect()
}

/// The host, or the rank where the log does not say where that is.
fn end(run: &NcclRun, link: &RankLink, rank: u32) -> String {
    match run.host(link, rank) {
        Some(host) => run.state.hosts.get(host).to_owned(),
        None => format!("rank {rank}"),
    }
}

/// The teller's device by name, or by number where it was not listed.
fn device(run: &NcclRun, link: &RankLink) -> Option<(u32, String)> {
    let RankLinkPath::Net {
        network, device, ..
    } = link.way
    else {
        return None;
    };
    let listed = match NcclTransport::of(run.state.names.get(network)) {
        NcclTransport::Unknown => None,
        transport => run.devices(link.process, transport).get(device as usize),
    };
    let name = listed.map_or_else(|| device.to_string(), |listed| listed.name.clone());
    Some((device, name))
}

/// Channels inside nodes by kind.
pub(crate) fn within(run: &NcclRun) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for (link, count) in run
        .links
        .iter()
        .filter(|(link, _)| run.is_within_node(link))
    {
        let name = match link.way {
            RankLinkPath::Net { network, .. } => format!("NET/{}", run.state.names.get(network)),
            RankLinkPath::Memory(kind) => run.state.names.get(kind).to_owned(),
        };
        *kinds.entry(name).or_default() += count;
    }
    kinds
}
