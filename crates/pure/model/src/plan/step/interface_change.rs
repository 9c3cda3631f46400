//! What is read again once files are changed: units, and interfaces by whoever manages them.

use std::collections::BTreeSet;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WantedAndFound, list};
use crate::{Facts, Mtu, Renderer, facts::net::Interface, plan::ValueChange};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reread", rename_all = "kebab-case")]
pub enum ConfigReload {
    /// systemd: units and its own defaults.
    Units,
    Interface(InterfaceChange),
}

/// One interface, configured anew by its own manager and by nobody else's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceChange {
    pub name: String,
    pub by: Renderer,
    /// Global addresses, sorted.
    #[schemars(with = "ValueChange<Vec<String>>")]
    pub addresses: ValueChange<Vec<IpNet>>,
    #[schemars(with = "ValueChange<Option<u32>>")]
    pub mtu: ValueChange<Option<Mtu>>,
}

impl ConfigReload {
    pub fn interface(&self) -> Option<&InterfaceChange> {
        match self {
            Self::Interface(change) => Some(change),
            Self::Units => None,
        }
    }

    #[must_use]
    pub fn undo(&self) -> Self {
        match self {
            Self::Units => Self::Units,
            Self::Interface(change) => Self::Interface(change.undo()),
        }
    }

    pub(super) fn is_done(&self, now: &Facts) -> bool {
        // Nobody can see whether units were read; the files are what counts.
        self.interface().is_none_or(|change| {
            let found = now.network.interface(&change.name);
            found.is_some_and(|found| change.is_done(found))
        })
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Units => "let systemd read its files again".to_owned(),
            Self::Interface(change) => change.words(),
        }
    }
}

impl InterfaceChange {
    fn undo(&self) -> Self {
        Self {
            name: self.name.clone(),
            by: self.by,
            addresses: self.addresses.undo(),
            mtu: self.mtu.undo(),
        }
    }

    fn is_done(&self, found: &Interface) -> bool {
        let mtu = self.mtu.to.is_none() || found.mtu.known() == self.mtu.to.as_ref();
        mtu && global_addresses(found) == self.addresses.to
    }

    /// `enp1s0 has [10.77.0.1/24] and MTU 1500`, where that is not what was wanted.
    pub fn difference(&self, now: &Facts) -> Option<String> {
        let found = now.network.interface(&self.name)?;
        let shown: Vec<String> = global_addresses(found)
            .iter()
            .map(IpNet::to_string)
            .collect();
        let mtu = found.mtu.known().map_or(0, |mtu| mtu.0);
        let text = format!("{} has [{}] and MTU {mtu}", self.name, shown.join(", "));
        (!self.is_done(found)).then_some(text)
    }

    fn words(&self) -> String {
        let addresses = |nets: &[IpNet]| match nets {
            [] => "no address".to_owned(),
            nets => list(nets),
        };
        let mut what = Vec::new();
        if self.addresses.from != self.addresses.to {
            let (to, from) = (
                addresses(&self.addresses.to),
                addresses(&self.addresses.from),
            );
            what.push(format!("{to} instead of {from}"));
        }
        if let (Some(to), true) = (self.mtu.to, self.mtu.from != self.mtu.to) {
            let from = self.mtu.from.map_or("?".to_owned(), |mtu| mtu.to_string());
            what.push(format!("MTU {to} instead of {from}"));
        }
        if what.is_empty() {
            what.push("addresses and MTU stay".to_owned());
        }
        let what = what.join(", ");
        format!("configure {} anew, by {}: {what}", self.name, self.by)
    }

    pub(super) fn compare(&self, now: &Facts) -> WantedAndFound {
        let shown = |nets: &[IpNet], mtu: Option<&Mtu>| {
            let nets: Vec<String> = nets.iter().map(IpNet::to_string).collect();
            let nets = match nets.as_slice() {
                [] => "no address".to_owned(),
                nets => nets.join(", "),
            };
            nets + &mtu.map_or_else(String::new, |mtu| format!(", MTU {mtu}"))
        };
        let found = now.network.interface(&self.name);
        WantedAndFound {
            wanted: shown(&self.addresses.to, self.mtu.to.as_ref()),
            found: found.map_or_else(
                || "no such interface".to_owned(),
                |found| shown(&global_addresses(found), found.mtu.known()),
            ),
        }
    }
}

/// What an interface can be reached at from elsewhere, sorted.
pub fn global_addresses(interface: &Interface) -> Vec<IpNet> {
    let global = interface.addresses.iter();
    let global = global.filter(|address| address.scope == "global");
    let sorted: BTreeSet<IpNet> = global.map(|address| address.net).collect();
    sorted.into_iter().collect()
}
