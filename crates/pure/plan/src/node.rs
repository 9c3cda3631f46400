//! One node's plan: what is wanted, compared with what is there.

mod buffers;
mod desired;
mod network;
mod time_service;

use std::collections::{BTreeMap, BTreeSet};

use crosstie_fabric::carries_management;
use crosstie_model::{
    Facts, NodePlan, PlanStep,
    managed::BlockPlace,
    plan::{
        BootUnitSettings, ConfigReload, Configure, EngineSetting, FORMAT, FabricAddress, FileMode,
        InterfaceUp, KernelModule, Packages, PlanRefusal, Sysctl, SystemdUnit, ValueChange,
    },
    spec::TwinAddresses,
};

use crate::{
    basis::basis,
    engines,
    files::{self, is_plain, paths},
    guards, qos,
    wiring::{PlannedWiring, WiredNode, WiredPort},
};
pub use buffers::SOCKET_BUFFER_BYTES;
pub(crate) use desired::mode_of;
use desired::{DesiredFiles, ReloadGroup};

/// What user space needs besides the card's own driver.
const MODULES: [&str; 2] = ["ib_uverbs", "rdma_ucm"];

pub(crate) fn plan(wiring: &PlannedWiring, node: &WiredNode) -> NodePlan {
    let facts = node.facts;
    let mut refusals = guards::ports(wiring, node);
    let (wanted, unmanaged) = network::wanted(wiring, node);
    // Who runs a port cannot be told from files that could not be read.
    if !refusals
        .iter()
        .any(|refusal| matches!(refusal, PlanRefusal::Unread { .. }))
    {
        refusals.extend(unmanaged);
    }
    let (settings, mut notes) = engines::settings(wiring, node);
    refusals.extend(guards::settings(&settings));
    let qos = qos::node(wiring.spec, node);
    refusals.extend(qos.refusals);
    let down = unused(wiring, node);
    let boot = BootUnitSettings {
        format: FORMAT,
        down: down.clone(),
        ports: qos.boot,
    };
    let mut sysctls = sysctls(node);
    sysctls.extend(buffers::sysctls(facts));
    let mut desired = DesiredFiles::default();
    if !node.ports.is_empty() {
        everywhere(&mut desired, facts, &sysctls);
        desired.block(paths::HOSTS, BlockPlace::End, files::hosts(wiring, node));
        desired.block(paths::NCCL, BlockPlace::Top, files::nccl(&settings));
    }
    network::files(&mut desired, &wanted);
    notes.extend(qos.notes);
    if !(boot.ports.is_empty() && boot.down.is_empty()) {
        desired.file(paths::BOOT, FileMode::Public, &files::boot_file(&boot));
        desired.file(paths::BOOT_UNIT, FileMode::Public, &files::boot_unit());
    }
    refusals.extend(guards::files(facts, &wanted, &desired.paths()));
    let network = network::configure(node, &wanted, &desired);
    refusals.extend(network.refusals);

    let mut steps = Vec::new();
    if !node.ports.is_empty() {
        steps.extend(packages(facts));
    }
    let configure = |group: ReloadGroup, then: Vec<ConfigReload>| {
        let files = desired.changes(facts, group);
        (!files.is_empty()).then_some(PlanStep::Configure(Configure { files, then }))
    };
    steps.extend(configure(ReloadGroup::Plain, Vec::new()));
    if !node.ports.is_empty() {
        steps.extend(modules(facts));
    }
    steps.extend(runtime_sysctls(facts, &sysctls));
    if !node.ports.is_empty() {
        steps.extend(time_service::step(facts));
    }
    steps.extend(network.step);
    steps.extend(qos.steps);
    steps.extend(links_down(facts, &down));
    // A unit is started after its file is there, and given up before it goes.
    let mut units: Vec<PlanStep> = configure(ReloadGroup::Units, vec![ConfigReload::Units])
        .into_iter()
        .collect();
    match unit(facts, &desired) {
        Some(step) if desired.paths().contains(paths::BOOT_UNIT) => units.push(step),
        step => units.splice(0..0, step).for_each(drop),
    }
    steps.extend(units);

    notes.extend(about_ports(wiring, node));
    notes.extend(buffers::note(facts));
    notes.extend(outweighed(facts, &settings));
    refusals.sort_by_key(ToString::to_string);
    refusals.dedup();
    NodePlan {
        node: facts.host.name.clone(),
        basis: basis(facts),
        refusals,
        steps,
        notes,
        addresses: addresses(wiring, node),
        settings,
    }
}

fn everywhere(desired: &mut DesiredFiles, facts: &Facts, sysctls: &BTreeMap<String, String>) {
    let folders = &facts.distribution().folders;
    desired.file(&paths::limits(folders), FileMode::Public, &files::limits());
    for path in paths::managers(folders) {
        desired.file(&path, FileMode::Public, &files::manager_limits());
    }
    let modules: Vec<&str> = MODULES
        .into_iter()
        .filter(|name| has_module(facts, name) && !is_loaded_by_others(facts, name))
        .collect();
    if !modules.is_empty() {
        let path = paths::modules(folders);
        desired.file(&path, FileMode::Public, &files::modules(&modules));
    }
    if !sysctls.is_empty() {
        let path = paths::sysctl(folders);
        desired.file(&path, FileMode::Public, &files::sysctls(sysctls));
    }
}

/// A module that is built in, or not there at all, cannot be loaded.
fn has_module(facts: &Facts, name: &str) -> bool {
    let paths = facts.software.module_paths.known();
    paths.is_some_and(|paths| paths.contains_key(name)) || facts.software.module(name).is_some()
}

fn is_loaded_by_others(facts: &Facts, name: &str) -> bool {
    let file = facts.persistence.modules.get(name);
    file.is_some_and(|file| *file != paths::modules(&facts.distribution().folders))
}

fn modules(facts: &Facts) -> Vec<PlanStep> {
    // Nothing is known to be loaded: then nothing is known.
    if facts.software.modules.is_empty() {
        return Vec::new();
    }
    let missing = MODULES
        .into_iter()
        .filter(|name| facts.software.module(name).is_none() && has_module(facts, name));
    missing
        .map(|name| {
            PlanStep::from(KernelModule {
                name: name.to_owned(),
                loaded: ValueChange {
                    from: false,
                    to: true,
                },
            })
        })
        .collect()
}

fn packages(facts: &Facts) -> Option<PlanStep> {
    let installed = facts.software.packages.known()?;
    let wanted = facts.distribution().packages.rdma_install.iter();
    let missing = wanted.filter(|name| !installed.contains_key(**name));
    let names: Vec<String> = missing.map(|name| (*name).to_owned()).collect();
    (!names.is_empty()).then_some(PlanStep::from(Packages {
        names,
        installed: ValueChange {
            from: false,
            to: true,
        },
    }))
}

/// Ports that hear the same frames must answer for their own addresses alone, else a peer learns the other twin's MAC. So
/// must one that has no address: it would answer for its twin.
fn sysctls(node: &WiredNode) -> BTreeMap<String, String> {
    let is_ipv4 = |port: &WiredPort| port.address.is_some_and(|net| net.addr().is_ipv4());
    let sharing = node.ports.iter().filter(|port| {
        let mut hearers = node
            .ports
            .iter()
            .filter(|other| other.joined == port.joined);
        node.shares_a_segment(port) && hearers.any(is_ipv4)
    });
    let names = sharing.filter_map(|port| port.interface.as_ref());
    names
        .filter(|name| is_plain(name))
        .flat_map(|name| {
            let key = |value: &str| format!("net.ipv4.conf.{}.{value}", name.replace('.', "/"));
            [
                (key("arp_ignore"), "1".to_owned()),
                (key("arp_announce"), "2".to_owned()),
            ]
        })
        .collect()
}

fn runtime_sysctls(facts: &Facts, wanted: &BTreeMap<String, String>) -> Vec<PlanStep> {
    let settable = wanted
        .iter()
        .filter(|(name, _)| !buffers::is_set_higher(facts, name));
    settable
        .filter_map(|(name, value)| {
            let from = facts.sysctls.get(name)?.clone();
            Some(PlanStep::from(Sysctl {
                name: name.clone(),
                value: ValueChange::between(from, value.clone())?,
            }))
        })
        .collect()
}

/// Interfaces of cages that no cable is in, if the cluster file wants them down. A cage with an active port has a cable,
/// whatever the cluster file says.
fn unused(wiring: &PlannedWiring, node: &WiredNode) -> Vec<String> {
    if !wiring.spec.fabric.unused_ports_down {
        return Vec::new();
    }
    let cabled: BTreeSet<&str> = node.ports.iter().map(|port| port.cage.as_str()).collect();
    let idle = node
        .cages
        .iter()
        .filter(|cage| !cage.active && !cabled.contains(cage.id.as_str()));
    let members = idle.flat_map(|cage| &cage.members).filter_map(|id| {
        let device = node.facts.rdma_device(&id.device)?;
        let port = device.ports.iter().find(|port| port.number == id.port)?;
        port.netdev.known().cloned()
    });
    members
        .filter(|name| is_plain(name) && !carries_management(node.facts, name))
        .collect()
}

fn links_down(facts: &Facts, names: &[String]) -> Vec<PlanStep> {
    let interfaces = names
        .iter()
        .filter_map(|name| facts.network.interface(name));
    interfaces
        .filter(|interface| interface.up.known() == Some(&true))
        .map(|interface| {
            PlanStep::from(InterfaceUp {
                interface: interface.name.clone(),
                up: ValueChange {
                    from: true,
                    to: false,
                },
            })
        })
        .collect()
}

fn unit(facts: &Facts, desired: &DesiredFiles) -> Option<PlanStep> {
    let name = paths::BOOT_UNIT_NAME;
    let enabled = ValueChange::between(
        facts.managed.units.contains(name),
        desired.paths().contains(paths::BOOT_UNIT),
    )?;
    Some(PlanStep::from(SystemdUnit {
        name: name.to_owned(),
        enabled,
    }))
}

fn addresses(wiring: &PlannedWiring, node: &WiredNode) -> Vec<FabricAddress> {
    let name = |index: usize| wiring.spec.nodes[index].name.clone();
    let ports = node.ports.iter().filter_map(|port| {
        let address = port.address?;
        let others = wiring.in_subnet(address).iter();
        let others = others.filter(|(index, _)| *index != node.index);
        Some(FabricAddress {
            cage: port.cage.clone(),
            interface: port.interface.clone()?,
            device: port.device.clone(),
            rail: port.rail,
            address,
            peers: others.map(|(index, _)| name(*index)).collect(),
        })
    });
    ports.collect()
}

fn about_ports(wiring: &PlannedWiring, node: &WiredNode) -> Vec<String> {
    let first_only = wiring.spec.fabric.twin_addresses == TwinAddresses::First;
    let silent = node
        .ports
        .iter()
        .filter(|port| port.address.is_none() && !port.infiniband);
    let mut notes: Vec<String> = silent
        .map(|port| {
            let why = if first_only {
                "only first twins get addresses"
            } else {
                "the other end of its cable has no twin for it"
            };
            format!(
                "{} gets no address, and engines leave it out: {why}",
                port.device
            )
        })
        .collect();
    let missing: BTreeSet<&str> = wiring.missing.iter().map(String::as_str).collect();
    let own = &node.facts.host.name;
    for (_, _, a, b) in wiring.spec.direct_cables() {
        let other = match (&a.node == own, &b.node == own) {
            (true, false) => b,
            (false, true) => a,
            _ => continue,
        };
        if missing.contains(other.node.as_str()) {
            notes.push(format!(
                "{} was not read: {other} is taken to have as many ports as this end",
                other.node
            ));
        }
    }
    if node.ports.is_empty() && node.unknown.is_empty() {
        notes.push("no cable of the cluster file ends here".to_owned());
    }
    notes
}

/// Settings elsewhere that NCCL would follow instead of ours, or besides.
fn outweighed(facts: &Facts, settings: &[EngineSetting]) -> Vec<String> {
    let block = facts.managed.blocks.get(paths::NCCL);
    let is_old = |line: &str| block.is_some_and(|body| body.lines().any(|own| own == line));
    let mut notes = Vec::new();
    for found in &facts.nccl.settings {
        let own = settings.iter().find(|own| own.name == found.name);
        if is_old(&format!("{}={}", found.name, found.value)) {
            continue;
        }
        let (name, value, source) = (&found.name, &found.value, &found.source);
        match own {
            Some(own) if own.value == *value => {}
            Some(_) if source == paths::NCCL => {
                notes.push(format!("{name}={value} in {source} is outweighed by ours, which stands above it"));
            }
            Some(own) => notes.push(format!(
                "{name}={value} ({source}) wins over our {}; remove it where processes get it",
                own.value
            )),
            None if name == "NCCL_IB_GID_INDEX" && !value.is_empty() => notes.push(format!(
                "{name}={value} ({source}) pins a GID that can drift; NCCL 2.21 and later choose better by themselves"
            )),
            None => {}
        }
    }
    notes
}
