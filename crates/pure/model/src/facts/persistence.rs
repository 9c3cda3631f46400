//! What will still be there after a reboot: the files that network managers and the boot read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::net::Interface;
use crate::{Reading, glob_matches};

pub use crate::renderer::Format;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PersistentNetworkConfig {
    /// Interface definitions in every manager's files, as far as they can be parsed.
    pub profiles: Vec<InterfaceProfile>,
    /// Netplan's files, in the order in which it reads them.
    pub netplan: Vec<NetplanFile>,
    /// What netplan last made of its files, under /run. Absent where it has made nothing.
    pub rendered: Reading<Vec<InterfaceProfile>>,
    /// Files that were there and could not be parsed: path → what is wrong.
    pub broken: BTreeMap<String, String>,
    /// Modules that the boot loads, with the file that names each.
    pub modules: BTreeMap<String, String>,
    /// A ConnectX hot-plug marker that DGX OS leaves behind.
    pub cx7_hotplug_marker: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetplanFile {
    pub file: String,
    /// For every file's interfaces, not its own alone.
    pub renderer: Option<String>,
    /// It defines more than wired interfaces: Wi-Fi, modems, tunnels.
    pub others: bool,
}

/// One interface definition in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceProfile {
    pub file: String,
    pub format: Format,
    /// What it applies to.
    pub matches: ProfileMatch,
    /// Static addresses in CIDR notation, as written.
    pub addresses: Vec<String>,
    pub mtu: Option<u32>,
    pub dhcp: bool,
}

/// Every given condition must hold; names and drivers may be globs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProfileMatch {
    pub names: Vec<String>,
    pub macs: Vec<String>,
    pub drivers: Vec<String>,
}

impl ProfileMatch {
    /// It names no interface, driver or MAC address at all.
    pub fn is_open(&self) -> bool {
        self.names.is_empty() && self.macs.is_empty() && self.drivers.is_empty()
    }

    /// The interfaces that it holds for, if that is decided by whole names alone.
    pub fn whole_names(&self) -> Option<&[String]> {
        let Self {
            names,
            macs,
            drivers,
        } = self;
        let is_whole = |name: &String| !name.contains(['*', '?', '[', '!', '\\']);
        let by_name = macs.is_empty() && drivers.is_empty() && names.iter().all(is_whole);
        (by_name && !names.is_empty()).then_some(names)
    }

    /// Whether every given condition holds for an interface.
    pub fn holds_for(&self, interface: &Interface, driver: Option<&str>) -> bool {
        let any = |globs: &[String], value: Option<&str>| {
            let Some(first) = globs.first() else {
                return true;
            };
            // networkd: a `!` before the first pattern turns the whole list round.
            let negated = first.starts_with('!');
            let patterns = globs.iter().map(|glob| glob.trim_start_matches('!'));
            let mut patterns = patterns.into_iter();
            value.is_some_and(|value| patterns.any(|glob| glob_matches(glob, value)) != negated)
        };
        let has_mac = || {
            let mac = interface.mac.known().map(ToString::to_string);
            let macs: Vec<String> = self.macs.iter().map(|mac| mac.to_lowercase()).collect();
            any(&macs, mac.as_deref())
        };
        any(&self.names, Some(&interface.name)) && any(&self.drivers, driver) && has_mac()
    }
}

/// A limit on locked memory for a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsConfLine {
    pub file: String,
    /// `*`, a user, `@group`, …
    pub domain: String,
    /// `soft`, `hard` or `-` for both.
    pub kind: String,
    pub item: String,
    pub value: String,
}

/// A limit of the collecting process: soft and hard, `None` being unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessLimit {
    pub soft: Reading<Option<u64>>,
    pub hard: Reading<Option<u64>>,
}
