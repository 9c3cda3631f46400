//! Why a node is left alone: whatever could cut someone off, or would not do what it says.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_fabric::{carries_management, is_meant};
use crosstie_facts::is_renderers;
use crosstie_model::{
    Facts,
    plan::{EngineKind, EngineSetting, PlanRefusal},
    spec::{PortMatch, TwinAddresses},
};
use ipnet::IpNet;

use crate::{
    addresses::MAX_TWINS,
    files::{MAX_NCCL_VALUE_BYTES, is_plain},
    renderer::{ALL, WantedInterface},
    set_aside::is_ours,
    wiring::{PlannedWiring, WiredNode, WiredPort},
};

pub(crate) fn ports(wiring: &PlannedWiring, node: &WiredNode) -> Vec<PlanRefusal> {
    let mut refusals: Vec<PlanRefusal> = node
        .unknown
        .iter()
        .map(|cage| PlanRefusal::NoCage {
            cage: cage.clone(),
            known: node.cages.iter().map(|cage| cage.id.clone()).collect(),
        })
        .collect();
    for port in &node.ports {
        refusals.extend(device(port));
        if !port.infiniband {
            refusals.extend(interface(wiring, node.facts, port));
        }
    }
    if wiring.spec.fabric.twin_addresses == TwinAddresses::All {
        let cabled: BTreeSet<&str> = node.ports.iter().map(|port| port.cage.as_str()).collect();
        let cages = node
            .cages
            .iter()
            .filter(|cage| cabled.contains(cage.id.as_str()));
        let crowded = cages.filter(|cage| cage.members.len() > MAX_TWINS as usize);
        refusals.extend(crowded.map(|cage| PlanRefusal::TooManyTwins {
            cage: cage.id.clone(),
            found: cage.members.len(),
        }));
    }
    refusals.extend(same_mac(node));
    refusals.extend(declared(wiring, node));
    refusals.extend(pool(wiring, node));
    if !node.ports.is_empty() {
        refusals.extend(unread(node.facts));
    }
    refusals
}

fn same_mac(node: &WiredNode) -> Vec<PlanRefusal> {
    let interfaces = node.ports.iter().filter(|port| !port.infiniband);
    let interfaces = interfaces.filter_map(|port| port.interface.as_deref());
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut refusals = Vec::new();
    for name in interfaces {
        let found = node.facts.network.interface(name);
        let Some(mac) = found.and_then(|found| found.mac.known()) else {
            continue;
        };
        match seen.get(&mac.to_string()) {
            Some(other) if *other != name => refusals.push(PlanRefusal::SameMac {
                interface: (*other).to_owned(),
                other: name.to_owned(),
                mac: mac.to_string(),
            }),
            Some(_) => {}
            None => drop(seen.insert(mac.to_string(), name)),
        }
    }
    refusals
}

/// Ports that a cabled cage of the cluster file lists, and nobody has.
fn declared(wiring: &PlannedWiring, node: &WiredNode) -> Vec<PlanRefusal> {
    let is_cabled = |id: &str| node.ports.iter().any(|port| port.cage == id);
    let cages = wiring.spec.nodes[node.index].cages.iter();
    let cages = cages.filter(|cage| is_cabled(&cage.id));
    let facts = node.facts;
    let is_there = |wanted: &PortMatch| {
        let mut devices = facts.rdma.iter();
        devices.any(|device| {
            let mut ports = device.ports.iter();
            ports.any(|port| is_meant(facts, wanted, (device, port)))
        })
    };
    let missing = cages.flat_map(|cage| {
        let ports = cage.ports.iter().filter(|wanted| !is_there(wanted));
        ports.map(|port| PlanRefusal::NoPort {
            cage: cage.id.clone(),
            port: port.to_string(),
        })
    });
    missing.collect()
}

fn device(port: &WiredPort) -> Option<PlanRefusal> {
    (!is_plain(&port.device)).then(|| PlanRefusal::Unwritable {
        what: "RDMA device".to_owned(),
        value: port.device.clone(),
        format: "nccl.conf".to_owned(),
    })
}

fn interface(wiring: &PlannedWiring, facts: &Facts, port: &WiredPort) -> Vec<PlanRefusal> {
    let found = port
        .interface
        .as_ref()
        .and_then(|name| facts.network.interface(name));
    let Some(found) = found else {
        let device = port.device.clone();
        return vec![PlanRefusal::NoInterface { device }];
    };
    let interface = found.name.clone();
    let mut refusals = Vec::new();
    if !is_plain(&interface) {
        refusals.push(PlanRefusal::Unwritable {
            what: "interface".to_owned(),
            value: interface.clone(),
            format: "the files of network managers".to_owned(),
        });
    }
    if carries_management(facts, &interface) {
        let interface = interface.clone();
        refusals.push(PlanRefusal::Management { interface });
    }
    if let Some(master) = found.master.known() {
        refusals.push(PlanRefusal::Enslaved {
            interface: interface.clone(),
            master: master.clone(),
        });
    }
    if let (Some(mtu), Some(max)) = (wiring.spec.fabric.mtu, found.max_mtu.known())
        && mtu > *max
    {
        refusals.push(PlanRefusal::MtuTooLarge {
            interface,
            mtu: mtu.0,
            max: max.0,
        });
    }
    refusals
}

/// Networks that the node already has elsewhere.
fn pool(wiring: &PlannedWiring, node: &WiredNode) -> Vec<PlanRefusal> {
    let Some(pool) = wiring.spec.fabric.pool.filter(|_| !node.ports.is_empty()) else {
        return Vec::new();
    };
    let network = &node.facts.network;
    let addresses = network.interfaces.iter().flat_map(|interface| {
        let nets = interface
            .addresses
            .iter()
            .map(|address| address.net.trunc());
        nets.map(|net| (net, interface.name.as_str()))
    });
    let routes = network.routes.known().into_iter().flatten();
    let routes = routes
        .filter(|route| matches!(route.table.as_str(), "main" | "254"))
        .filter_map(|route| Some((route.destination?, route.interface.as_deref()?)));
    let overlapping: BTreeSet<(IpNet, &str)> = addresses
        .chain(routes)
        .filter(|(net, interface)| !node.is_fabric(interface) && overlap(pool, *net))
        .collect();
    overlapping
        .into_iter()
        .map(|(net, interface)| PlanRefusal::PoolOverlap {
            pool: pool.to_string(),
            network: net.to_string(),
            interface: interface.to_owned(),
        })
        .collect()
}

fn overlap(a: IpNet, b: IpNet) -> bool {
    a.contains(&b) || b.contains(&a)
}

/// Whether a path is of the files that decide what a plan would change.
pub(crate) fn is_configuration(path: &str) -> bool {
    path.starts_with("/etc/systemd") || path.starts_with("/etc/") && is_renderers(path)
}

/// Those that only root may read.
fn unread(facts: &Facts) -> impl Iterator<Item = PlanRefusal> {
    let unread = facts.unread.iter();
    let unread = unread.filter(|gap| is_configuration(&gap.what));
    unread.map(|gap| PlanRefusal::Unread {
        file: gap.what.clone(),
        why: gap.why.clone(),
    })
}

/// Values that are too long for NCCL's own file.
pub(crate) fn settings(settings: &[EngineSetting]) -> Vec<PlanRefusal> {
    let long = settings.iter().filter(|setting| {
        setting.engine == EngineKind::Nccl && setting.value.len() > MAX_NCCL_VALUE_BYTES
    });
    long.map(|setting| PlanRefusal::Unwritable {
        what: setting.name.clone(),
        value: format!("{}…", setting.value.chars().take(40).collect::<String>()),
        format: "nccl.conf".to_owned(),
    })
    .collect()
}

/// What stands in the way of writing.
pub(crate) fn files(
    facts: &Facts,
    wanted: &[WantedInterface],
    paths: &BTreeSet<&str>,
) -> Vec<PlanRefusal> {
    let edited = facts.managed.edited.iter();
    let edited = edited.map(|file| PlanRefusal::Edited { file: file.clone() });
    let profiles = facts.persistence.profiles.iter();
    let taken: BTreeSet<&str> = profiles
        .map(|profile| profile.file.as_str())
        .filter(|file| paths.contains(file) && !is_ours(facts, file))
        .collect();
    let taken = taken.into_iter().map(|file| PlanRefusal::Taken {
        file: file.to_owned(),
    });
    let mut refusals: Vec<PlanRefusal> = edited.chain(taken).collect();
    refusals.extend(ALL.iter().flat_map(|one| one.refusals(facts, wanted)));
    refusals
}
