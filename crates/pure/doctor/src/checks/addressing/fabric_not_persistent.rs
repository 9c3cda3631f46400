//! The fabric's settings are gone after the next reboot.

use std::collections::HashSet;

use crosstie_facts::{PROFILES, is_renderers, joined, keeps_unnamed, private_managers};
use crosstie_model::{
    Facts,
    facts::{
        net::{Interface, InterfaceAddress, Manager},
        persistence::InterfaceProfile,
    },
    renderers_listed, with_every_renderer,
};
use crosstie_plan::keep_commands;

use crate::{
    Check, CheckFunctions, CheckHit, ExaminedNode,
    terms::{address_source, netdev_file, roce},
};

/// Below it an MTU says little: drivers and managers choose such values by themselves.
const SET_ON_PURPOSE: u32 = 4192;

const STATE: &[&str] = &["ip addr show", "/sys/class/net/IF/mtu"];

pub(super) const CHECK: Check = Check {
    id: "fabric-not-persistent",
    title: "A fabric interface's settings are lost at the next reboot",
    severity: "warning",
    fires: concat!(
        "A fabric interface has a static address or an MTU of 4192 or more, and no file of ",
        with_every_renderer!(renderers_listed),
        " covers it, by name, pattern, driver or MAC address. Silent where such files could not be read.",
    ),
    reads: &joined::<_, { STATE.len() + PROFILES.len() }>(&[STATE, PROFILES]),
    cause: "the settings were made with `ip` or a script, which change the running kernel only",
    meaning: "What `ip addr add` and `ip link set` do is gone after a reboot, and often after a link loss. The cluster \
        works until then, and weeks later nobody remembers what was typed.",
    fix: "Write the settings into the files of whatever manages the network of this node.",
    verify: "After a reboot `ip addr show` has the same addresses and MTU.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let facts = node.facts;
    // Inside a container the host's files are out of sight; a broken file may cover anything.
    if facts.system.container.known().is_some() || !facts.persistence.broken.is_empty() {
        return Vec::new();
    }
    if facts.unread.iter().any(|gap| is_profiles(&gap.what)) {
        return Vec::new();
    }
    let mut interfaces: Vec<&Interface> = roce(node)
        .flat_map(|port| {
            let addressed = port.addresses().into_iter().map(|(netdev, _)| netdev);
            addressed.chain(port.netdev)
        })
        .collect();
    interfaces.sort_by_key(|interface| &interface.name);
    interfaces.dedup_by_key(|interface| &interface.name);
    let coverage = Coverage::new(facts);
    interfaces
        .into_iter()
        .filter_map(|interface| hit(facts, interface, &coverage))
        .collect()
}

fn hit(facts: &Facts, interface: &Interface, coverage: &Coverage) -> Option<CheckHit> {
    let name = &interface.name;
    let addresses: Vec<&InterfaceAddress> = interface
        .addresses
        .iter()
        .filter(|address| !address.dynamic && !crate::is_link_local(address.net.addr()))
        .collect();
    let mtu = interface.mtu.known().filter(|mtu| mtu.0 >= SET_ON_PURPOSE);
    let nothing_set = addresses.is_empty() && mtu.is_none();
    if nothing_set || may_be_hidden(facts, interface) || coverage.holds(facts, interface) {
        return None;
    }
    let mut hit = CheckHit::warning(name);
    for address in &addresses {
        hit = hit.saw("address", address.net, address_source(name));
    }
    if let Some(mtu) = mtu {
        hit = hit.saw("MTU", mtu, netdev_file(name, "mtu"));
    }
    hit = hit.saw("files that cover it", "none", folders().join(", "));
    for command in commands(facts, interface, &addresses) {
        hit = hit.command(command);
    }
    Some(hit)
}

/// Some managers' files are for root alone, names and all.
fn may_be_hidden(facts: &Facts, interface: &Interface) -> bool {
    let manages = |manager: &Manager| interface.manager == *manager;
    let mut private = private_managers();
    match facts.system.root.known() {
        Some(true) => false,
        Some(false) => private.any(|manager| manages(manager) || manager.is_running(facts)),
        None => private.any(manages),
    }
}

fn is_profiles(unread: &str) -> bool {
    is_renderers(unread) || unread.contains("what only root may read")
}

/// Where profiles are.
fn folders() -> Vec<&'static str> {
    let folder = |path: &&'static str| path.rsplit_once('/').map(|(folder, _)| folder);
    PROFILES.iter().filter_map(folder).collect()
}

/// The profiles that survive a boot.
struct Coverage<'a> {
    /// Interfaces that are covered by their names.
    names: HashSet<&'a str>,
    /// Profiles that cover whatever they match.
    others: Vec<&'a InterfaceProfile>,
}

impl<'a> Coverage<'a> {
    fn new(facts: &'a Facts) -> Self {
        let profiles = facts.persistence.profiles.iter();
        // Lost at reboot themselves; what netplan renders there is counted where it is declared.
        let lasting =
            profiles.filter(|profile| !profile.file.trim_start_matches('/').starts_with("run/"));
        let mut names = HashSet::new();
        let mut others = Vec::new();
        for profile in lasting {
            match profile.matches.whole_names() {
                Some(whole) => names.extend(whole.iter().map(String::as_str)),
                None => others.push(profile),
            }
        }
        Self { names, others }
    }

    fn holds(&self, facts: &Facts, interface: &Interface) -> bool {
        let function = interface.pci.known().and_then(|pci| facts.pci_device(*pci));
        let driver = function.and_then(|function| function.driver.known());
        let covers = |profile: &&InterfaceProfile| {
            if !profile.matches.is_open() {
                return profile
                    .matches
                    .holds_for(interface, driver.map(String::as_str));
            }
            keeps_unnamed(profile)
        };
        self.names.contains(interface.name.as_str()) || self.others.iter().any(covers)
    }
}

fn commands(facts: &Facts, interface: &Interface, addresses: &[&InterfaceAddress]) -> Vec<String> {
    // A bond or a VLAN takes more than that.
    if interface.kind.known().is_some() {
        return Vec::new();
    }
    let nets: Vec<String> = addresses
        .iter()
        .map(|address| address.net.to_string())
        .collect();
    let mtu = interface.mtu.known().map_or(9000, |mtu| mtu.0);
    keep_commands(facts, interface, &nets, mtu)
}
