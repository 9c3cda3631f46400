//! Fabric interfaces: files for the manager that runs each, and who must be configured anew.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{
    Facts, PlanStep, Renderer,
    facts::{net::Interface, persistence::InterfaceProfile},
    plan::{
        ConfigReload, Configure, FileChange, InterfaceChange, PlanRefusal, ValueChange,
        global_addresses,
    },
};
use ipnet::IpNet;

use super::desired::{DesiredFiles, ReloadGroup, mode_of};
use crate::{
    files::is_plain,
    renderer::{ALL, WantedInterface, choose},
    set_aside,
    wiring::{PlannedWiring, WiredNode},
};

/// Interfaces as they should be, and why some cannot be.
pub(super) fn wanted(
    wiring: &PlannedWiring,
    node: &WiredNode,
) -> (Vec<WantedInterface>, Vec<PlanRefusal>) {
    let mut addresses: BTreeMap<&str, BTreeSet<IpNet>> = BTreeMap::new();
    for port in node.ports.iter().filter(|port| !port.infiniband) {
        if let Some(name) = port.interface.as_deref().filter(|name| is_plain(name)) {
            addresses.entry(name).or_default().extend(port.address);
        }
    }
    let mut wanted = Vec::new();
    let mut refusals = Vec::new();
    for (name, addresses) in addresses {
        let Some(interface) = node.facts.network.interface(name) else {
            continue;
        };
        match choose(node.facts, interface) {
            Ok(renderer) => wanted.push(WantedInterface {
                name: name.to_owned(),
                renderer,
                addresses: addresses.into_iter().collect(),
                mtu: wiring.spec.fabric.mtu,
            }),
            Err(refusal) => refusals.push(refusal),
        }
    }
    (wanted, refusals)
}

pub(super) fn files(desired: &mut DesiredFiles, wanted: &[WantedInterface]) {
    for (path, text) in ALL.iter().flat_map(|renderer| renderer.files(wanted)) {
        desired.file(&path, mode_of(&path), &text);
    }
}

pub(super) struct NetworkSteps {
    pub(super) step: Option<PlanStep>,
    pub(super) refusals: Vec<PlanRefusal>,
}

pub(super) fn configure(
    node: &WiredNode,
    wanted: &[WantedInterface],
    desired: &DesiredFiles,
) -> NetworkSteps {
    let facts = node.facts;
    let (set_aside, refusals) = set_aside::competing_profiles(node, wanted);
    let mut files: Vec<FileChange> = set_aside
        .iter()
        .map(|path| FileChange::Aside {
            path: path.clone(),
            aside: ValueChange {
                from: false,
                to: true,
            },
        })
        .collect();
    files.extend(desired.changes(facts, ReloadGroup::Network));
    let then: Vec<ConfigReload> = wanted
        .iter()
        .filter_map(|own| change(facts, own, &set_aside))
        .chain(given_up(node, wanted))
        .map(ConfigReload::Interface)
        .collect();
    let step = !(files.is_empty() && then.is_empty());
    NetworkSteps {
        step: step.then_some(PlanStep::Configure(Configure { files, then })),
        refusals,
    }
}

/// An interface whose definition or state differs. The others are not disturbed, though they share a file.
fn change(
    facts: &Facts,
    own: &WantedInterface,
    set_aside: &BTreeSet<String>,
) -> Option<InterfaceChange> {
    let interface = facts.network.interface(&own.name)?;
    let current = global_addresses(interface);
    let mtu = interface.mtu.known().copied();
    let is_so = current == own.addresses && (own.mtu.is_none() || own.mtu == mtu);
    let profiles = facts.persistence.profiles.iter();
    let declared = profiles
        .filter(|profile| set_aside::is_ours(facts, &profile.file))
        .any(|profile| says(profile, own));
    let freed = facts.persistence.profiles.iter().any(|profile| {
        set_aside.contains(&profile.file) && profile.matches.names.contains(&own.name)
    });
    if is_so && declared && !freed {
        return None;
    }
    Some(InterfaceChange {
        name: own.name.clone(),
        by: own.renderer,
        addresses: ValueChange {
            from: current,
            to: own.addresses.clone(),
        },
        mtu: ValueChange {
            from: mtu,
            to: own.mtu.or(mtu),
        },
    })
}

fn says(profile: &InterfaceProfile, own: &WantedInterface) -> bool {
    let addresses: BTreeSet<String> = own.addresses.iter().map(ToString::to_string).collect();
    profile.format == own.renderer.format()
        && profile.matches.names == [own.name.clone()]
        && profile.mtu == own.mtu.map(|mtu| mtu.0)
        && profile.addresses.iter().cloned().collect::<BTreeSet<_>>() == addresses
}

/// Interfaces that our files name and the cluster file does not: they lose the addresses that we gave them.
fn given_up(node: &WiredNode, wanted: &[WantedInterface]) -> Vec<InterfaceChange> {
    let facts = node.facts;
    let profiles = facts.persistence.profiles.iter();
    let ours = profiles.filter(|profile| facts.managed.files.contains_key(&profile.file));
    let mut found = BTreeMap::new();
    for profile in ours {
        for name in &profile.matches.names {
            let is_wanted = wanted.iter().any(|own| own.name == *name);
            if let Some(interface) = facts.network.interface(name).filter(|_| !is_wanted)
                && let Ok(by) = choose(facts, interface)
            {
                found.insert(name, without(interface, by, &profile.addresses));
            }
        }
    }
    found.into_values().collect()
}

fn without(interface: &Interface, by: Renderer, addresses: &[String]) -> InterfaceChange {
    let current = global_addresses(interface);
    let kept = current
        .iter()
        .filter(|net| !addresses.contains(&net.to_string()));
    let mtu = interface.mtu.known().copied();
    InterfaceChange {
        name: interface.name.clone(),
        by,
        addresses: ValueChange {
            to: kept.copied().collect(),
            from: current.clone(),
        },
        mtu: ValueChange { from: mtu, to: mtu },
    }
}
