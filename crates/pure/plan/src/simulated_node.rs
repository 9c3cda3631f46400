//! A node in memory: what steps do, with nothing done. The model that the real executor is held to.

use std::collections::BTreeMap;

use crosstie_facts::{CaptureEntry, RawCapture};
use crosstie_model::{
    Facts, Mtu, PlanStep, Reading,
    facts::net::InterfaceAddress,
    managed::{BlockPlace, FileOrigin, ManagedBlock, origin, with_block},
    plan::{FileChange, InterfaceChange, StaleStep, aside, global_addresses},
};
use ipnet::IpNet;

use crate::{files::paths, node::mode_of};

/// The parts of a node that steps change.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedNode {
    /// Path → mode and text.
    pub files: BTreeMap<String, (u32, String)>,
    pub interfaces: BTreeMap<String, SimulatedInterface>,
    /// Everything else. What it says of files and of interfaces' addresses is as it was at first.
    pub facts: Facts,
}

/// What a manager makes of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimulatedInterface {
    pub addresses: Vec<IpNet>,
    pub mtu: Option<Mtu>,
}

impl SimulatedNode {
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
        let interfaces = facts.network.interfaces.iter().map(|interface| {
            let state = SimulatedInterface {
                addresses: global_addresses(interface),
                mtu: interface.mtu.known().copied(),
            };
            (interface.name.clone(), state)
        });
        Self {
            files,
            interfaces: interfaces.collect(),
            facts: facts.clone(),
        }
    }

    /// Does one step. Nothing is changed if the node is not as it was when the plan was made.
    pub fn apply(&mut self, step: &PlanStep) -> Result<(), StaleStep> {
        for file in step.files() {
            self.change_file(file)?;
        }
        for change in step.interface_changes() {
            self.change_interface(change)?;
        }
        step.foresee(&mut self.facts)
    }

    fn change_file(&mut self, change: &FileChange) -> Result<(), StaleStep> {
        let found = self.files.get(change.path()).map(|(_, text)| text.as_str());
        match change {
            FileChange::Whole { path, mode, text } => {
                if found != text.from.as_deref() {
                    return Err(StaleStep::of(path));
                }
                match &text.to {
                    Some(text) => self.files.insert(path.clone(), (mode.bits(), text.clone())),
                    None => self.files.remove(path),
                };
            }
            FileChange::Block { path, place, text } => {
                let body = found.and_then(ManagedBlock::find).map(|block| block.body);
                if body != text.from.as_deref() {
                    return Err(StaleStep::of(path));
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
                    return Err(StaleStep::of(&to));
                }
                let file = self
                    .files
                    .remove(&from)
                    .ok_or_else(|| StaleStep::of(&from))?;
                self.files.insert(to, file);
            }
        }
        Ok(())
    }

    fn change_interface(&mut self, change: &InterfaceChange) -> Result<(), StaleStep> {
        let InterfaceChange {
            name,
            by: _,
            addresses,
            mtu,
        } = change;
        let state = self.interfaces.get_mut(name);
        let state = state.ok_or_else(|| StaleStep::of(name))?;
        if state.addresses != addresses.from || state.mtu != mtu.from {
            return Err(StaleStep::of(name));
        }
        state.addresses.clone_from(&addresses.to);
        state.mtu = mtu.to;
        Ok(())
    }

    /// What would be read of the node now.
    pub fn facts(&self) -> Facts {
        let mut raw = RawCapture::default();
        for (path, (_, text)) in &self.files {
            let path = path.trim_start_matches('/');
            raw.insert(path, CaptureEntry::File(text.clone().into_bytes()));
        }
        let read = crosstie_facts::facts(&raw);
        let mut now = self.facts.clone();
        now.managed = read.managed;
        now.managed.units.clone_from(&self.facts.managed.units);
        let is_ours = |path: &str| {
            let text = self.files.get(path);
            text.is_some_and(|(_, text)| origin(text) != FileOrigin::Foreign)
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
        let own = paths::limits(&self.facts.distribution().folders);
        limits.retain(|line| line.file != own);
        limits.extend(read.system.limit_lines);
        // pam_limits reads limits.conf first, then limits.d by name.
        limits.sort_by_key(|line| (line.file.contains("/limits.d/"), line.file.clone()));
        self.configure_interfaces(&mut now);
        now
    }

    fn configure_interfaces(&self, now: &mut Facts) {
        for interface in &mut now.network.interfaces {
            let Some(state) = self.interfaces.get(&interface.name) else {
                continue;
            };
            interface.addresses.retain(|address| {
                address.scope != "global" || state.addresses.contains(&address.net)
            });
            let there = global_addresses(interface);
            let new = state.addresses.iter().filter(|net| !there.contains(net));
            interface.addresses.extend(new.map(|net| InterfaceAddress {
                net: *net,
                scope: "global".to_owned(),
                dynamic: false,
            }));
            // What could not be read before cannot be read now.
            if let (Reading::Value(found), Some(mtu)) = (&mut interface.mtu, state.mtu) {
                *found = mtu;
            }
        }
    }
}
