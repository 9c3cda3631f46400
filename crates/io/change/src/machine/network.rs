//! Those who read network configuration, told to read it again, one interface at a time. Never `netplan apply`: it takes
//! management down for a moment, and brings up whatever else lies in `/etc/netplan`.

use std::{fs, path::Path};

use crosstie_model::facts::net::Manager;
use crosstie_model::plan::{InterfaceChange, Renderer, Reread};

use super::{run, run_within};
use crosstie_node::command;

use crate::error::{ManagerError, ProgramError};

const NETPLAN_MADE: [(&str, &str); 2] = [
    ("/run/systemd/network", "10-netplan-"),
    ("/run/NetworkManager/system-connections", "netplan-"),
];

pub(super) fn reread(then: &[Reread]) -> Result<(), ManagerError> {
    if then.contains(&Reread::Units) {
        run("systemctl", &["daemon-reload"])?;
    }
    let interfaces = then.iter().filter_map(|reread| match reread {
        Reread::Interface(change) => Some(change),
        Reread::Units => None,
    });
    let interfaces: Vec<&InterfaceChange> = interfaces.collect();
    if interfaces
        .iter()
        .any(|change| change.by.generator().is_some())
    {
        run("netplan", &["generate"])?;
    }
    let (managed, plain): (Vec<&InterfaceChange>, Vec<&InterfaceChange>) = interfaces
        .into_iter()
        .partition(|change| change.by.manager() == Manager::NetworkManager);
    if !plain.is_empty() {
        networkd(&plain)?;
    }
    if !managed.is_empty() {
        network_manager(&managed)?;
    }
    Ok(())
}

fn networkd(changes: &[&InterfaceChange]) -> Result<(), ProgramError> {
    run("networkctl", &["reload"])?;
    for change in changes {
        run("networkctl", &["reconfigure", &change.name])?;
    }
    Ok(())
}

fn network_manager(changes: &[&InterfaceChange]) -> Result<(), ProgramError> {
    // Whether an interface keeps its addresses without a carrier stands in its own configuration.
    run("nmcli", &["general", "reload", "conf"])?;
    run("nmcli", &["connection", "reload"])?;
    let known = run(
        "nmcli",
        &["-t", "-f", "NAME,FILENAME", "connection", "show"],
    )?;
    for change in changes {
        let profile = match change.by {
            Renderer::NetplanNetworkManager => format!("netplan-{}", change.name),
            _ => format!("crosstie-{}", change.name),
        };
        if known
            .lines()
            .any(|line| line.split(':').next() == Some(&profile))
        {
            run(
                "nmcli",
                &["--wait", "40", "connection", "up", "id", &profile],
            )?;
        } else if !change.addresses.to.is_empty() {
            // Our profile is gone: what was there before takes over.
            let _ = run(
                "nmcli",
                &["--wait", "20", "device", "connect", &change.name],
            );
        }
    }
    Ok(())
}

/// Before the managers start: what netplan's generator made of files that are no longer there goes.
pub(super) fn render_at_boot() -> Result<(), ManagerError> {
    if command::find("netplan").is_none() {
        return Ok(());
    }
    for (folder, prefix) in NETPLAN_MADE {
        let entries = fs::read_dir(Path::new(folder)).into_iter().flatten();
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                let path = entry.path();
                fs::remove_file(&path).map_err(|source| ManagerError::Generated {
                    path: path.display().to_string(),
                    source,
                })?;
            }
        }
    }
    run_within("netplan", &["generate"], std::time::Duration::from_secs(90))?;
    Ok(())
}

/// Whether a manager runs.
pub(crate) fn is_managed() -> bool {
    ["systemd-networkd.service", "NetworkManager.service"]
        .into_iter()
        .any(is_active)
}

fn is_active(unit: &str) -> bool {
    run("systemctl", &["is-active", unit]).is_ok()
}

/// After files changed under a person's own hands: all of them read again, nothing brought up or down for it.
pub(super) fn reread_all() -> Result<(), ManagerError> {
    if command::find("netplan").is_some() {
        run("netplan", &["generate"])?;
    }
    if is_active("systemd-networkd.service") {
        run("networkctl", &["reload"])?;
    }
    if is_active("NetworkManager.service") {
        // It reads this when it starts, if it is there, and writes what it has in mind at any time.
        let remembered = std::fs::read_to_string(MANAGER_STATE).unwrap_or_default();
        run("nmcli", &["general", "reload", "conf"])?;
        run("nmcli", &["connection", "reload"])?;
        if !remembered
            .lines()
            .any(|line| line == "NetworkingEnabled=false")
        {
            run("nmcli", &["networking", "on"])?;
        }
    }
    Ok(())
}

const MANAGER_STATE: &str = "/var/lib/NetworkManager/NetworkManager.state";
const FAMILIES: [&str; 2] = ["-4", "-6"];

/// Routes of the main table, each behind its family. The kernel's own come and go with addresses.
pub(super) fn routes() -> Vec<String> {
    let lines = FAMILIES.into_iter().flat_map(|family| {
        let shown = run("ip", &[family, "route", "show", "table", "main"]).unwrap_or_default();
        let lines: Vec<String> = shown
            .lines()
            .filter(|line| !line.contains(" proto kernel") && !line.contains(" proto ra"))
            // Several next hops go over several lines; those of the first would be a route of its own.
            .filter(|line| line.contains(" dev ") || line.contains(" via "))
            .map(|line| format!("{family} {}", without_state(line)))
            .collect();
        lines
    });
    lines.collect()
}

/// What `ip` shows and does not take.
fn without_state(line: &str) -> String {
    let words = line.split_whitespace();
    let words = words.filter(|word| !matches!(*word, "linkdown" | "dead"));
    words.collect::<Vec<&str>>().join(" ")
}

pub(super) fn put_routes_back(before: &[String]) -> Result<(), ProgramError> {
    let now = routes();
    let change = |verb: &str, route: &String| {
        let words: Vec<&str> = route.split(' ').collect();
        let (family, rest) = words.split_first().unwrap_or((&"-4", &[]));
        let mut arguments = vec![*family, "route", verb];
        arguments.extend(rest);
        run("ip", &arguments).map(drop)
    };
    for route in now.iter().filter(|route| !before.contains(route)) {
        change("delete", route)?;
    }
    for route in before.iter().filter(|route| !now.contains(route)) {
        change("replace", route)?;
    }
    Ok(())
}
