//! Who configures an interface: asked of the managers' own state, else read off their files.

use std::collections::HashMap;

use crosstie_model::facts::{
    PersistentNetworkConfig,
    net::{Interface, Manager},
    persistence::InterfaceProfile,
};

use crate::{
    RawCapture,
    renderer::{Claim, MANAGERS},
};

pub(super) struct ManagerLookup<'a> {
    /// Managers that keep their state under /run, so that silence about an interface means something.
    claims: Vec<(&'static Manager, Claim<'a>)>,
    profiles: &'a [InterfaceProfile],
    /// The last profile that applies to an interface by its name and to nothing else.
    by_name: HashMap<&'a str, usize>,
    /// The profiles that may apply to any interface, in their order.
    by_match: Vec<usize>,
}

impl<'a> ManagerLookup<'a> {
    pub(super) fn new(raw: &'a RawCapture, files: &'a PersistentNetworkConfig) -> Self {
        let profiles = files.profiles.as_slice();
        let mut by_name = HashMap::new();
        let mut by_match = Vec::new();
        for (index, profile) in profiles.iter().enumerate() {
            match profile.matches.whole_names() {
                Some(names) => by_name.extend(names.iter().map(|name| (name.as_str(), index))),
                None => by_match.push(index),
            }
        }
        let claims = MANAGERS.iter();
        let claims = claims.filter_map(|(manager, files)| Some((manager, files.claim(raw)?)));
        Self {
            claims: claims.collect(),
            profiles,
            by_name,
            by_match,
        }
    }

    pub(super) fn of(&self, interface: &Interface, driver: Option<&str>) -> Manager {
        self.running(interface)
            .or_else(|| self.declared(interface, driver))
            .unwrap_or(if self.claims.is_empty() {
                Manager::Unknown
            } else {
                Manager::Nobody
            })
    }

    fn running(&self, interface: &Interface) -> Option<Manager> {
        let index = *interface.index.known()?;
        let mut claims = self.claims.iter();
        let found = claims.find(|(_, claim)| claim(&interface.name, index))?;
        Some(found.0.clone())
    }

    /// What the files would make of it. The last file that matches is the one in force in netplan.
    fn declared(&self, interface: &Interface, driver: Option<&str>) -> Option<Manager> {
        let by_name = self.by_name.get(interface.name.as_str()).copied();
        let covers = |index: &&usize| covers(&self.profiles[**index], interface, driver);
        let by_match = self.by_match.iter().rev().find(covers).copied();
        let profile = &self.profiles[by_name.max(by_match)?];
        Some(profile.format.manager())
    }
}

/// Whether a profile applies to an interface. One that names nothing applies to everything, and says nothing here.
pub fn covers(profile: &InterfaceProfile, interface: &Interface, driver: Option<&str>) -> bool {
    !profile.matches.is_open() && profile.matches.holds_for(interface, driver)
}
