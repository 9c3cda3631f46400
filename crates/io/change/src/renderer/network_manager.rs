//! `NetworkManager`.

use std::{fs, time::Duration};

use crosstie_model::{facts::net::Manager, plan::InterfaceChange};

use super::{ManagerPrograms, RendererControl, writer};

/// It reads this when it starts, if it is there, and writes what it has in mind at any time.
const STATE: &str = "/var/lib/NetworkManager/NetworkManager.state";

const UP_TIMEOUT: Duration = Duration::from_secs(40);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct NetworkManager;

impl RendererControl for NetworkManager {
    fn reconfigure(&self, changes: &[&InterfaceChange], programs: &mut ManagerPrograms<'_>) {
        reload(programs);
        let profiles = ["-t", "-f", "NAME,FILENAME", "connection", "show"];
        let Some(known) = programs.run("nmcli", &profiles) else {
            return;
        };
        for change in changes {
            let profile = writer(change.by).profile(&change.name);
            if known
                .lines()
                .any(|line| line.split(':').next() == Some(&profile))
            {
                let wait = programs.seconds_left(UP_TIMEOUT);
                let up = ["--wait", &wait, "connection", "up", "id", &profile];
                programs.run("nmcli", &up);
            } else if !change.addresses.to.is_empty()
                && let Some(before) = saved_profile(&change.name, programs)
            {
                // Our profile is gone: what was there before takes over. `device connect` would make a new one where there
                // was none, as for an address that somebody set by hand.
                let wait = programs.seconds_left(CONNECT_TIMEOUT);
                let up = ["--wait", &wait, "connection", "up", "uuid", &before];
                let _ = programs.ask("nmcli", &[&up[..], &["ifname", &change.name]].concat());
            }
        }
    }

    fn reread(&self, programs: &mut ManagerPrograms<'_>) {
        if !programs.is_running(&Manager::NetworkManager) {
            return;
        }
        let remembered = fs::read_to_string(STATE).unwrap_or_default();
        reload(programs);
        if !remembered
            .lines()
            .any(|line| line == "NetworkingEnabled=false")
        {
            programs.run("nmcli", &["networking", "on"]);
        }
    }

    fn files(&self) -> &'static [&'static str] {
        &["/etc/NetworkManager", STATE]
    }
}

/// Of those that fit the interface, one that lies in a file of its own or of a generator's, by its number.
fn saved_profile(interface: &str, programs: &ManagerPrograms<'_>) -> Option<String> {
    let shown = ["-t", "-f", "CONNECTIONS", "device", "show", interface];
    let available = programs.ask("nmcli", &shown).ok()?;
    let profiles = ["-t", "-f", "UUID,FILENAME", "connection", "show"];
    let known = programs.ask("nmcli", &profiles).ok()?;
    saved_of(&available, &known)
}

/// From lines such as `CONNECTIONS.AVAILABLE-CONNECTIONS[1]:UUID | NAME` and `UUID:FILE`.
fn saved_of(available: &str, known: &str) -> Option<String> {
    let is_saved = |uuid: &str| {
        known.lines().any(|line| {
            let (found, file) = line.split_once(':').unwrap_or((line, ""));
            // NetworkManager's own are for as long as it runs.
            let is_own = file.starts_with("/run/") && !file.contains("/netplan-");
            found == uuid && !file.is_empty() && !is_own
        })
    };
    let mut uuids = available.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.contains("AVAILABLE-CONNECTIONS[")
            .then(|| value.split(" | ").next().unwrap_or(value).trim())
    });
    uuids.find(|uuid| is_saved(uuid)).map(str::to_owned)
}

fn reload(programs: &mut ManagerPrograms<'_>) {
    // Whether an interface keeps its addresses without a carrier stands in its own configuration.
    programs.run("nmcli", &["general", "reload", "conf"]);
    programs.run("nmcli", &["connection", "reload"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_in_a_file_takes_over_and_none_that_the_manager_made_itself() {
        let available = "CONNECTIONS.AVAILABLE-CONNECTION-PATHS:/org/freedesktop/NetworkManager/Settings/{2,5}\n\
             CONNECTIONS.AVAILABLE-CONNECTIONS[1]:aaaa | Wired connection 3\n\
             CONNECTIONS.AVAILABLE-CONNECTIONS[2]:bbbb | netplan-eth1\n";
        let own = "aaaa:/run/NetworkManager/system-connections/Wired connection 3.nmconnection\n";
        let netplan = "bbbb:/run/NetworkManager/system-connections/netplan-eth1.nmconnection\n";
        let saved = "bbbb:/etc/NetworkManager/system-connections/eth1.nmconnection\n";
        assert_eq!(saved_of(available, own), None);
        for file in [netplan, saved] {
            let known = format!("{own}{file}");
            assert_eq!(saved_of(available, &known).as_deref(), Some("bbbb"));
        }
        assert_eq!(saved_of("", saved), None);
    }
}
