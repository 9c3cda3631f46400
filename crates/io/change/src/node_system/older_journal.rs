//! Interfaces as they were, of a journal that an older build has written.

use std::{collections::BTreeSet, fs, path::Path};

use crosstie_model::{Facts, facts::net::Interface, plan::global_addresses};
use ipnet::IpNet;

use super::older_routes;

use crate::{
    error::{ExternalProgramError, RollbackObstacle},
    journal::{LinkSnapshot, RuntimeSnapshot},
    program::run,
};

const SYSCTLS: &str = "/proc/sys";

fn mac(interface: &Interface) -> String {
    interface
        .mac
        .known()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Returns what could not be restored.
pub(super) fn restore(facts: &Facts, before: &RuntimeSnapshot) -> Vec<RollbackObstacle> {
    let mut obstacles = Vec::new();
    for link in &before.links {
        let interface = facts.network.interface(&link.name);
        // Another card behind the same name is not what the journal speaks of.
        let Some(interface) = interface.filter(|found| mac(found) == link.mac) else {
            continue;
        };
        let restored = restore_link(interface, link);
        obstacles.extend(restored.err().map(RollbackObstacle::Program));
    }
    if let Some(routes) = &before.routes {
        let restored = older_routes::restore(routes);
        obstacles.extend(restored.err().map(RollbackObstacle::Program));
    }
    obstacles
}

fn restore_link(interface: &Interface, before: &LinkSnapshot) -> Result<(), ExternalProgramError> {
    let name = before.name.as_str();
    let now: BTreeSet<IpNet> = global_addresses(interface).into_iter().collect();
    let wanted: BTreeSet<IpNet> = before.addresses.iter().copied().collect();
    for extra in now.difference(&wanted) {
        run(
            "ip",
            &["address", "delete", &extra.to_string(), "dev", name],
        )?;
    }
    if let Some(mtu) = before.mtu
        && interface.mtu.known().map(|mtu| mtu.0) != Some(mtu)
    {
        run("ip", &["link", "set", "dev", name, "mtu", &mtu.to_string()])?;
    }
    if before.up == Some(false) && interface.up.known() == Some(&true) {
        run("ip", &["link", "set", "dev", name, "down"])?;
    }
    for (path, value) in &before.sysctls {
        let path = Path::new(SYSCTLS).join(path);
        let is_so = fs::read_to_string(&path).is_ok_and(|now| now.trim_end() == value);
        if !is_so {
            // One that the kernel no longer has, or does not take, is no reason to stay half way.
            let _ = fs::write(&path, value);
        }
    }
    if before.up == Some(true) && interface.up.known() == Some(&false) {
        run("ip", &["link", "set", "dev", name, "up"])?;
    }
    for missing in wanted.difference(&now) {
        run(
            "ip",
            &["address", "replace", &missing.to_string(), "dev", name],
        )?;
    }
    Ok(())
}
