//! A node in memory: what steps do, with nothing done. The model that the real executor is held to.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_facts::{Entry, Raw};
use crosstie_model::{
    Facts, Mtu, Reading, Step,
    facts::net::Address,
    managed::{Block, BlockPlace, Origin, origin, with_block},
    plan::{
        Change, Configure, EcnPoint, FileChange, InterfaceChange, Reread, aside, global_addresses,
    },
};
use ipnet::IpNet;
use thiserror::Error;

use crate::{files::paths, node::mode_of};

/// The parts of a node that steps change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    /// Path → mode and text.
    pub files: BTreeMap<String, (u32, String)>,
    pub sysctls: BTreeMap<String, String>,
    pub modules: BTreeSet<String>,
    pub packages: BTreeSet<String>,
    /// Units that the boot starts.
    pub units: BTreeSet<String>,
    pub time_service: Option<bool>,
    pub interfaces: BTreeMap<String, InterfaceState>,
    pub ports: BTreeMap<(String, u32), PortState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InterfaceState {
    pub addresses: Vec<IpNet>,
    pub mtu: Option<Mtu>,
    pub up: Option<bool>,
    pub pfc: Option<Vec<u8>>,
    pub trust: Option<String>,
    pub dscp: BTreeMap<u8, u8>,
    pub notification: BTreeMap<u8, bool>,
    pub reaction: BTreeMap<u8, bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortState {
    pub class: Option<u8>,
    pub mode: Option<String>,
}

/// The node is not as the plan found it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} is not what the plan was made for")]
pub struct Stale {
    pub what: String,
}

impl Memory {
    /// As far as facts tell: of other people's files there is the name alone.
    pub fn of(facts: &Facts) -> Self {
        let managed = &facts.managed;
        let mut files: BTreeMap<String, (u32, String)> = BTreeMap::new();
        for (path, text) in &managed.files {
            files.insert(path.clone(), (mode_of(path).bits(), text.clone()));
        }
        for (path, body) in &managed.blocks {
            let text = with_block(None, Some(body), BlockPlace::End).unwrap_or_default();
            files.insert(path.clone(), (0o644, text));
        }
        for profile in &facts.persistence.profiles {
            let text = || (0o600, "someone's\n".to_owned());
            files.entry(profile.file.clone()).or_insert_with(text);
        }
        let ports = facts.rdma.iter().flat_map(|device| {
            device.ports.iter().map(|port| {
                let state = PortState {
                    class: port.traffic_class.known().copied(),
                    mode: port.cm_roce_mode.known().cloned(),
                };
                ((device.name.clone(), port.number), state)
            })
        });
        let packages = facts.software.packages.known();
        Self {
            files,
            sysctls: facts.sysctls.clone(),
            modules: facts.software.modules.keys().cloned().collect(),
            packages: packages
                .map(|all| all.keys().cloned().collect())
                .unwrap_or_default(),
            units: managed.units.clone(),
            time_service: facts.system.time_service_on.known().copied(),
            interfaces: interfaces(facts),
            ports: ports.collect(),
        }
    }

    /// Does one step. Nothing is changed if the node is not as it was when the plan was made.
    pub fn apply(&mut self, step: &Step) -> Result<(), Stale> {
        match step {
            Step::Configure(configure) => self.configure(configure),
            Step::Sysctl { name, value } => match self.sysctls.get_mut(name) {
                Some(found) => set(name, found, value),
                None => Err(stale(name)),
            },
            Step::Module { name, loaded } => toggle(&mut self.modules, name, loaded),
            Step::Unit { name, enabled } => toggle(&mut self.units, name, enabled),
            Step::TimeService { on } => set_known("time service", &mut self.time_service, on),
            Step::Packages { names, installed } => names
                .iter()
                .try_for_each(|name| toggle(&mut self.packages, name, installed)),
            Step::TrafficClass {
                device,
                port,
                class,
            } => {
                let state = self.ports.get_mut(&(device.clone(), *port));
                let found = state.ok_or_else(|| stale(device))?;
                set_known(device, &mut found.class, class)
            }
            Step::RoceMode { device, port, mode } => {
                let state = self.ports.get_mut(&(device.clone(), *port));
                let found = state.ok_or_else(|| stale(device))?;
                set_known(device, &mut found.mode, mode)
            }
            Step::Pfc { interface, .. }
            | Step::Trust { interface, .. }
            | Step::Dscp { interface, .. }
            | Step::Ecn { interface, .. }
            | Step::Link { interface, .. } => {
                let state = self.interfaces.get_mut(interface);
                state
                    .ok_or_else(|| stale(interface))?
                    .apply(interface, step)
            }
        }
    }

    fn configure(&mut self, configure: &Configure) -> Result<(), Stale> {
        for file in &configure.files {
            self.change_file(file)?;
        }
        for reread in &configure.then {
            if let Reread::Interface(change) = reread {
                self.change_interface(change)?;
            }
        }
        Ok(())
    }

    fn change_file(&mut self, change: &FileChange) -> Result<(), Stale> {
        let found = self.files.get(change.path()).map(|(_, text)| text.as_str());
        match change {
            FileChange::Whole { path, mode, text } => {
                if found != text.from.as_deref() {
                    return Err(stale(path));
                }
                match &text.to {
                    Some(text) => self.files.insert(path.clone(), (mode.bits(), text.clone())),
                    None => self.files.remove(path),
                };
            }
            FileChange::Block { path, place, text } => {
                let body = found.and_then(Block::find).map(|block| block.body);
                if body != text.from.as_deref() {
                    return Err(stale(path));
                }
                let mode = self.files.get(path).map_or(0o644, |(mode, _)| *mode);
                match with_block(found, text.to.as_deref(), *place) {
                    Some(text) => self.files.insert(path.clone(), (mode, text)),
                    None => self.files.remove(path),
                };
            }
            FileChange::Aside {
                path,
                aside: change,
            } => {
                let (from, to) = if change.to {
                    (path.clone(), aside(path))
                } else {
                    (aside(path), path.clone())
                };
                if self.files.contains_key(&to) {
                    return Err(stale(&to));
                }
                let file = self.files.remove(&from).ok_or_else(|| stale(&from))?;
                self.files.insert(to, file);
            }
        }
        Ok(())
    }

    fn change_interface(&mut self, change: &InterfaceChange) -> Result<(), Stale> {
        let name = &change.name;
        let state = self.interfaces.get_mut(name).ok_or_else(|| stale(name))?;
        set(name, &mut state.addresses, &change.addresses)?;
        set(name, &mut state.mtu, &change.mtu)
    }

    /// What would be read of the node now.
    pub fn facts(&self, before: &Facts) -> Facts {
        let mut raw = Raw::default();
        for (path, (_, text)) in &self.files {
            let path = path.trim_start_matches('/');
            raw.insert(path, Entry::File(text.clone().into_bytes()));
        }
        let read = crosstie_facts::facts(&raw);
        let mut now = before.clone();
        now.managed = read.managed;
        now.managed.units.clone_from(&self.units);
        let is_ours = |path: &str| {
            let text = self.files.get(path);
            text.is_some_and(|(_, text)| origin(text) != Origin::Foreign)
        };
        let persistence = &mut now.persistence;
        let there = |path: &str| self.files.contains_key(path) && !is_ours(path);
        persistence.profiles.retain(|profile| there(&profile.file));
        persistence.netplan.retain(|file| there(&file.file));
        let ours = read.persistence.profiles.into_iter();
        persistence
            .profiles
            .extend(ours.filter(|profile| is_ours(&profile.file)));
        let ours = read.persistence.netplan.into_iter();
        persistence
            .netplan
            .extend(ours.filter(|file| is_ours(&file.file)));
        persistence.modules.extend(read.persistence.modules);
        let limits = &mut now.system.limit_lines;
        let own = paths::limits(&before.distribution().folders);
        limits.retain(|line| line.file != own);
        limits.extend(read.system.limit_lines);
        // pam_limits reads limits.conf first, then limits.d by name.
        limits.sort_by_key(|line| (line.file.contains("/limits.d/"), line.file.clone()));
        renew(&mut now.system.time_service_on, self.time_service.as_ref());
        now.sysctls.clone_from(&self.sysctls);
        for name in &self.modules {
            now.software.modules.entry(name.clone()).or_default();
        }
        now.software
            .modules
            .retain(|name, _| self.modules.contains(name));
        if let Reading::Value(packages) = &mut now.software.packages {
            packages.retain(|name, _| self.packages.contains(name));
            for name in &self.packages {
                packages.entry(name.clone()).or_default();
            }
        }
        self.network(&mut now);
        now
    }

    fn network(&self, now: &mut Facts) {
        for interface in &mut now.network.interfaces {
            let Some(state) = self.interfaces.get(&interface.name) else {
                continue;
            };
            interface.addresses.retain(|address| {
                address.scope != "global" || state.addresses.contains(&address.net)
            });
            let there = global_addresses(interface);
            let new = state.addresses.iter().filter(|net| !there.contains(net));
            interface.addresses.extend(new.map(|net| Address {
                net: *net,
                scope: "global".to_owned(),
                dynamic: false,
            }));
            renew(&mut interface.mtu, state.mtu.as_ref());
            renew(&mut interface.up, state.up.as_ref());
            let qos = &mut interface.qos;
            renew(&mut qos.pfc, state.pfc.as_ref());
            renew(&mut qos.trust, state.trust.as_ref());
            renew(&mut qos.dscp_to_priority, Some(&state.dscp));
            renew(&mut qos.ecn_notify, Some(&state.notification));
            renew(&mut qos.ecn_react, Some(&state.reaction));
        }
        for device in &mut now.rdma {
            for port in &mut device.ports {
                if let Some(state) = self.ports.get(&(device.name.clone(), port.number)) {
                    renew(&mut port.traffic_class, state.class.as_ref());
                    renew(&mut port.cm_roce_mode, state.mode.as_ref());
                }
            }
        }
    }
}

/// What could not be read before cannot be read now.
fn renew<T: Clone>(reading: &mut Reading<T>, value: Option<&T>) {
    if let (Reading::Value(found), Some(value)) = (reading, value) {
        found.clone_from(value);
    }
}

fn interfaces(facts: &Facts) -> BTreeMap<String, InterfaceState> {
    let interfaces = facts.network.interfaces.iter().map(|interface| {
        let qos = &interface.qos;
        let state = InterfaceState {
            addresses: global_addresses(interface),
            mtu: interface.mtu.known().copied(),
            up: interface.up.known().copied(),
            pfc: qos.pfc.known().cloned(),
            trust: qos.trust.known().cloned(),
            dscp: qos.dscp_to_priority.known().cloned().unwrap_or_default(),
            notification: qos.ecn_notify.known().cloned().unwrap_or_default(),
            reaction: qos.ecn_react.known().cloned().unwrap_or_default(),
        };
        (interface.name.clone(), state)
    });
    interfaces.collect()
}

impl InterfaceState {
    fn apply(&mut self, name: &str, step: &Step) -> Result<(), Stale> {
        match step {
            Step::Pfc { priorities, .. } => set_known(name, &mut self.pfc, priorities),
            Step::Trust { trust, .. } => set_known(name, &mut self.trust, trust),
            Step::Link { up, .. } => set_known(name, &mut self.up, up),
            Step::Dscp { dscp, priority, .. } => {
                if self.dscp.get(dscp).copied() != priority.from {
                    return Err(stale(name));
                }
                match priority.to {
                    Some(priority) => self.dscp.insert(*dscp, priority),
                    None => self.dscp.remove(dscp),
                };
                Ok(())
            }
            Step::Ecn {
                point,
                priority,
                enabled,
                ..
            } => {
                let map = match point {
                    EcnPoint::Notification => &mut self.notification,
                    EcnPoint::Reaction => &mut self.reaction,
                };
                let found = map.get_mut(priority).ok_or_else(|| stale(name))?;
                set(name, found, enabled)
            }
            _ => Ok(()),
        }
    }
}

fn stale(what: &str) -> Stale {
    let what = what.to_owned();
    Stale { what }
}

fn set<T: Clone + PartialEq>(what: &str, value: &mut T, change: &Change<T>) -> Result<(), Stale> {
    if *value != change.from {
        return Err(stale(what));
    }
    value.clone_from(&change.to);
    Ok(())
}

fn set_known<T: Clone + PartialEq>(
    what: &str,
    value: &mut Option<T>,
    change: &Change<T>,
) -> Result<(), Stale> {
    match value {
        Some(value) => set(what, value, change),
        None => Err(stale(what)),
    }
}

fn toggle(set: &mut BTreeSet<String>, name: &str, change: &Change<bool>) -> Result<(), Stale> {
    if set.contains(name) != change.from {
        return Err(stale(name));
    }
    if change.to {
        set.insert(name.to_owned());
    } else {
        set.remove(name);
    }
    Ok(())
}
