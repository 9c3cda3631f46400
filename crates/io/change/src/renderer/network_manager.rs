//! `NetworkManager`.

use std::fs;

use crosstie_model::{facts::net::Manager, plan::InterfaceChange};

use super::{RendererControl, is_running, writer};
use crate::{
    error::{ExternalProgramError, ManagerError},
    program::run,
};

/// It reads this when it starts, if it is there, and writes what it has in mind at any time.
const STATE: &str = "/var/lib/NetworkManager/NetworkManager.state";

/// In seconds, as nmcli takes it.
const UP_TIMEOUT: &str = "40";
const CONNECT_TIMEOUT: &str = "20";

pub(super) struct NetworkManager;

impl RendererControl for NetworkManager {
    fn reconfigure(&self, changes: &[&InterfaceChange]) -> Result<(), ManagerError> {
        reload()?;
        let known = run(
            "nmcli",
            &["-t", "-f", "NAME,FILENAME", "connection", "show"],
        )?;
        for change in changes {
            let profile = writer(change.by).profile(&change.name);
            if known
                .lines()
                .any(|line| line.split(':').next() == Some(&profile))
            {
                let up = ["--wait", UP_TIMEOUT, "connection", "up", "id", &profile];
                run("nmcli", &up)?;
            } else if !change.addresses.to.is_empty() {
                // Our profile is gone: what was there before takes over.
                let connect = ["--wait", CONNECT_TIMEOUT, "device", "connect", &change.name];
                let _ = run("nmcli", &connect);
            }
        }
        Ok(())
    }

    fn reread(&self) -> Result<(), ManagerError> {
        if !is_running(&Manager::NetworkManager) {
            return Ok(());
        }
        let remembered = fs::read_to_string(STATE).unwrap_or_default();
        reload()?;
        if !remembered
            .lines()
            .any(|line| line == "NetworkingEnabled=false")
        {
            run("nmcli", &["networking", "on"])?;
        }
        Ok(())
    }

    fn files(&self) -> &'static [&'static str] {
        &["/etc/NetworkManager", STATE]
    }
}

fn reload() -> Result<(), ExternalProgramError> {
    // Whether an interface keeps its addresses without a carrier stands in its own configuration.
    run("nmcli", &["general", "reload", "conf"])?;
    run("nmcli", &["connection", "reload"])?;
    Ok(())
}
