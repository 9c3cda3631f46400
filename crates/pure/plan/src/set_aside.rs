//! Other people's definitions of a fabric port. Netplan adds up addresses of all files, and the managers know one profile
//! for a port at a time: theirs is set aside, if it is for fabric ports alone.

use std::collections::BTreeSet;

use crosstie_facts::covers;
use crosstie_model::{
    Facts,
    facts::{net::Interface, persistence::InterfaceProfile},
    plan::PlanRefusal,
};

use crate::{
    renderer::{self, WantedInterface},
    wiring::WiredNode,
};

/// Files to set aside, and why some cannot be.
pub(crate) fn competing_profiles(
    node: &WiredNode,
    wanted: &[WantedInterface],
) -> (BTreeSet<String>, Vec<PlanRefusal>) {
    let facts = node.facts;
    let mut files = BTreeSet::new();
    let mut refusals = Vec::new();
    for own in wanted {
        let Some(interface) = facts.network.interface(&own.name) else {
            continue;
        };
        let driver = driver(facts, interface);
        let profiles = facts.persistence.profiles.iter();
        for profile in profiles.filter(|profile| !is_ours(facts, &profile.file)) {
            if !covers(profile, interface, driver) {
                continue;
            }
            let Some(renderer) = renderer::of(profile.format) else {
                refusals.extend(profile.format.manager().refusal(&own.name));
                continue;
            };
            if !renderer.is_heard(own, profile) {
                continue;
            }
            match obstacle(node, &profile.file) {
                None => {
                    files.insert(profile.file.clone());
                }
                Some(why) => refusals.push(PlanRefusal::SharedProfile {
                    file: profile.file.clone(),
                    interface: own.name.clone(),
                    why: why.to_owned(),
                }),
            }
        }
    }
    (files, refusals)
}

pub(crate) fn is_ours(facts: &Facts, file: &str) -> bool {
    facts.managed.files.contains_key(file) || facts.managed.edited.contains(file)
}

fn driver<'a>(facts: &'a Facts, interface: &Interface) -> Option<&'a str> {
    let function = facts.pci_device(*interface.pci.known()?)?;
    function.driver.known().map(String::as_str)
}

/// Why a file cannot be set aside.
fn obstacle(node: &WiredNode, file: &str) -> Option<&'static str> {
    let facts = node.facts;
    if !file.starts_with("/etc/") {
        return Some("it is not in /etc");
    }
    let profiles = facts.persistence.profiles.iter();
    let mut inside = profiles.filter(|profile| profile.file == file);
    if !inside.all(|profile| is_for_fabric_alone(node, profile)) {
        return Some("it is for other interfaces too");
    }
    let mut obstacles = renderer::ALL.iter();
    obstacles.find_map(|renderer| renderer.obstacle(facts, file))
}

fn is_for_fabric_alone(node: &WiredNode, profile: &InterfaceProfile) -> bool {
    let conditions = &profile.matches;
    let is_own_mac = |mac: &String| {
        let mut fabric = node.facts.network.interfaces.iter();
        fabric.any(|own| {
            let known = own.mac.known().map(ToString::to_string);
            node.is_fabric(&own.name) && known.is_some_and(|own| own.eq_ignore_ascii_case(mac))
        })
    };
    let is_own_name = |name: &String| node.is_fabric(name);
    let (names, macs) = (&conditions.names, &conditions.macs);
    let by_name = !names.is_empty() && names.iter().all(is_own_name);
    let by_mac = !macs.is_empty() && macs.iter().all(is_own_mac);
    by_name || by_mac
}
