//! Who configures an interface: asked of the managers' own state, else read off their files.

use std::collections::{HashMap, HashSet};

use crosstie_model::{
    Reading,
    facts::{
        Persistence,
        net::{Interface, Manager},
        persistence::{Format, Profile},
    },
};

use crate::Raw;

pub(super) struct Managers<'a> {
    raw: &'a Raw,
    /// Some manager keeps its state under /run, so silence about an interface means something.
    state_known: bool,
    /// The lines of ifupdown's state.
    ifupdown: HashSet<&'a str>,
    profiles: &'a [Profile],
    /// The last profile that applies to an interface by its name and to nothing else.
    by_name: HashMap<&'a str, usize>,
    /// The profiles that may apply to any interface, in their order.
    by_match: Vec<usize>,
}

impl<'a> Managers<'a> {
    pub(super) fn new(raw: &'a Raw, files: &'a Persistence) -> Self {
        let state_known = [
            "run/NetworkManager/devices",
            "run/systemd/netif/links",
            "run/network/ifstate",
        ]
        .iter()
        .any(|path| raw.exists(path));
        let ifupdown = raw.text("run/network/ifstate").into_known().unwrap_or("");
        let profiles = files.profiles.as_slice();
        let mut by_name = HashMap::new();
        let mut by_match = Vec::new();
        for (index, profile) in profiles.iter().enumerate() {
            match profile.matches.whole_names() {
                Some(names) => by_name.extend(names.iter().map(|name| (name.as_str(), index))),
                None => by_match.push(index),
            }
        }
        Self {
            raw,
            state_known,
            ifupdown: ifupdown.lines().map(str::trim).collect(),
            profiles,
            by_name,
            by_match,
        }
    }

    pub(super) fn of(&self, interface: &Interface, driver: Option<&str>) -> Manager {
        self.running(interface)
            .or_else(|| self.declared(interface, driver))
            .unwrap_or(if self.state_known {
                Manager::Nobody
            } else {
                Manager::Unknown
            })
    }

    fn running(&self, interface: &Interface) -> Option<Manager> {
        let index = interface.index.known()?;
        let devices = format!("run/NetworkManager/devices/{index}");
        let device = self.raw.text(&devices).into_known().unwrap_or("");
        if device.lines().any(|line| line.trim() == "managed=true") {
            return Some(Manager::NetworkManager);
        }
        let state = self.raw.text(&format!("run/systemd/netif/links/{index}"));
        if let Reading::Value(text) = state
            && !text.contains("ADMIN_STATE=unmanaged")
            && text.contains("ADMIN_STATE=")
        {
            return Some(Manager::Networkd);
        }
        let line = format!("{0}={0}", interface.name);
        self.ifupdown
            .contains(line.as_str())
            .then_some(Manager::Ifupdown)
    }

    /// What the files would make of it. The last file that matches is the one in force in netplan.
    fn declared(&self, interface: &Interface, driver: Option<&str>) -> Option<Manager> {
        let by_name = self.by_name.get(interface.name.as_str()).copied();
        let covers = |index: &&usize| covers(&self.profiles[**index], interface, driver);
        let by_match = self.by_match.iter().rev().find(covers).copied();
        let profile = &self.profiles[by_name.max(by_match)?];
        Some(match profile.format {
            Format::NetplanNetworkManager | Format::NetworkManager => Manager::NetworkManager,
            Format::NetplanNetworkd | Format::Networkd => Manager::Networkd,
            Format::Ifupdown => Manager::Ifupdown,
        })
    }
}

/// Whether a profile applies to an interface. One that names nothing applies to everything, and says nothing here.
pub fn covers(profile: &Profile, interface: &Interface, driver: Option<&str>) -> bool {
    !profile.matches.is_open() && profile.matches.holds_for(interface, driver)
}
