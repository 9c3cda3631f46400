//! Values of the running kernel, and interfaces as they were.

use std::{collections::BTreeSet, fs, path::Path};

use crosstie_model::{Facts, Step, facts::net::Interface, plan::global_addresses};
use ipnet::IpNet;

use super::{INSTALL, run};
use crosstie_node::command::run_to_its_end;

use crate::{
    distribution,
    error::{ProgramError, StepError},
    journal::{Before, LinkBefore},
};

const SYSCTLS: &str = "/proc/sys";

pub(super) fn set(step: &Step) -> Result<(), StepError> {
    match step {
        Step::Sysctl { name, value } => sysctl(name, &value.to),
        Step::Module { name, loaded } => {
            let arguments: &[&str] = if loaded.to {
                &["--", name]
            } else {
                &["-r", "--", name]
            };
            run("modprobe", arguments)?;
            Ok(())
        }
        Step::Unit { name, enabled } => {
            let verb = if enabled.to { "enable" } else { "disable" };
            run("systemctl", &[verb, "--", name])?;
            Ok(())
        }
        Step::Packages { names, .. } => install(names),
        Step::Configure(_) => Ok(()),
        step => Ok(crate::port_settings::set(step)?),
    }
}

/// systemd chooses which. Undone, the one that runs is stopped: whether a boot starts it is what files say, and those are
/// restored.
pub(super) fn time_service(on: bool, units: &[String]) -> Result<(), StepError> {
    if on {
        run("timedatectl", &["set-ntp", "true"])?;
        return Ok(());
    }
    for unit in units {
        if run("systemctl", &["is-active", "--", unit]).is_ok() {
            run("systemctl", &["stop", "--", unit])?;
        }
    }
    Ok(())
}

/// `net.ipv4.conf.eth0/1.arp_ignore` is `net/ipv4/conf/eth0.1/arp_ignore`.
fn sysctl(name: &str, value: &str) -> Result<(), StepError> {
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
        return Err(StepError::NotSysctl {
            name: name.to_owned(),
        });
    }
    let path = Path::new(SYSCTLS).join(swapped);
    fs::write(&path, value).map_err(|source| StepError::Sysctl {
        path: path.display().to_string(),
        value: value.to_owned(),
        source,
    })
}

/// A package manager is never cut off in the middle: whatever becomes of us, it goes on to its end. One that is still at work for
/// somebody else is waited for.
fn install(names: &[String]) -> Result<(), StepError> {
    let call = distribution::installed(Path::new("/")).install(names, INSTALL / 2);
    let arguments: Vec<&str> = call.arguments.iter().map(String::as_str).collect();
    let done = run_to_its_end(call.program, &arguments, call.environment, INSTALL);
    done.map_err(|why| StepError::Packages { why })
}

fn mac(interface: &Interface) -> String {
    interface
        .mac
        .known()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Of a journal that an older build has written.
pub(super) fn put_back(facts: &Facts, before: &Before) -> Vec<String> {
    let mut problems = Vec::new();
    for link in &before.links {
        let interface = facts.network.interface(&link.name);
        // Another card behind the same name is not what the journal speaks of.
        let Some(interface) = interface.filter(|found| mac(found) == link.mac) else {
            continue;
        };
        problems.extend(
            put_link_back(interface, link)
                .err()
                .map(|error| error.to_string()),
        );
    }
    problems
}

fn put_link_back(interface: &Interface, before: &LinkBefore) -> Result<(), ProgramError> {
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
