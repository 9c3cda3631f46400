//! Values of the running kernel, and interfaces as they were.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crosstie_model::{Facts, Step, facts::net::Interface, plan::global_addresses};
use ipnet::IpNet;

use super::{INSTALL, run};
use crate::{
    change::journal::{Before, LinkBefore},
    command::run_to_its_end,
};

const SYSCTLS: &str = "/proc/sys";

pub(super) fn set(step: &Step) -> Result<(), String> {
    match step {
        Step::Sysctl { name, value } => sysctl(name, &value.to),
        Step::Module { name, loaded } => {
            let arguments: &[&str] = if loaded.to {
                &["--", name]
            } else {
                &["-r", "--", name]
            };
            run("modprobe", arguments).map(drop)
        }
        Step::Unit { name, enabled } => {
            let verb = if enabled.to { "enable" } else { "disable" };
            run("systemctl", &[verb, "--", name]).map(drop)
        }
        Step::Packages { names, .. } => install(names),
        Step::Configure(_) => Ok(()),
        step => crate::port_settings::set(step).map_err(|error| error.to_string()),
    }
}

/// `net.ipv4.conf.eth0/1.arp_ignore` is `net/ipv4/conf/eth0.1/arp_ignore`.
fn sysctl(name: &str, value: &str) -> Result<(), String> {
    let swapped: String = name
        .chars()
        .map(|letter| match letter {
            '.' => '/',
            '/' => '.',
            other => other,
        })
        .collect();
    let plain = swapped
        .split('/')
        .all(|part| !matches!(part, "" | "." | ".."));
    if !plain {
        return Err(format!("'{name}' is no sysctl"));
    }
    fs::write(Path::new(SYSCTLS).join(swapped), value).map_err(|error| error.to_string())
}

/// dpkg is never cut off in the middle: whatever becomes of us, apt-get goes on to its end. One that is still at work for
/// somebody else is waited for.
fn install(names: &[String]) -> Result<(), String> {
    let wait = format!("DPkg::Lock::Timeout={}", INSTALL.as_secs() / 2);
    let mut arguments = vec!["--option", &wait];
    arguments.extend(["install", "--yes", "--no-install-recommends", "--"]);
    arguments.extend(names.iter().map(String::as_str));
    run_to_its_end("apt-get", &arguments, INSTALL)
}

pub(super) fn before(facts: &Facts, names: &[String]) -> Before {
    let links = names.iter().filter_map(|name| {
        let interface = facts.network.interface(name)?;
        Some(LinkBefore {
            name: name.clone(),
            mac: mac(interface),
            up: interface.up.known().copied(),
            mtu: interface.mtu.known().map(|mtu| mtu.0),
            addresses: global_addresses(interface),
            sysctls: sysctls_of(name),
        })
    });
    Before {
        links: links.collect(),
        routes: None,
    }
}

fn mac(interface: &Interface) -> String {
    interface
        .mac
        .known()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// What managers and drivers set for one interface, by path below `/proc/sys`.
fn sysctls_of(name: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for family in ["net/ipv4/conf", "net/ipv6/conf"] {
        let folder = Path::new(SYSCTLS).join(family).join(name);
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            let key = entry.file_name().to_string_lossy().into_owned();
            // Secrets are not ours to keep; the MTU of IPv6 follows the link's.
            if matches!(key.as_str(), "stable_secret" | "mtu") {
                continue;
            }
            if let Ok(value) = fs::read_to_string(entry.path()) {
                let path = format!("{family}/{name}/{key}");
                values.insert(path, value.trim_end().to_owned());
            }
        }
    }
    values
}

pub(super) fn put_back(facts: &Facts, before: &Before) -> Result<(), String> {
    let mut problems = Vec::new();
    for link in &before.links {
        let interface = facts.network.interface(&link.name);
        // Another card behind the same name is not what the journal speaks of.
        let Some(interface) = interface.filter(|found| mac(found) == link.mac) else {
            continue;
        };
        problems.extend(put_link_back(interface, link).err());
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("; "))
    }
}

fn put_link_back(interface: &Interface, before: &LinkBefore) -> Result<(), String> {
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
