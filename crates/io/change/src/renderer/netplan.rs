//! netplan. Never `netplan apply`: it takes management down for a moment, and brings up whatever else lies in `/etc/netplan`.

use std::{fs, path::Path, time::Duration};

use crosstie_durable as durable;
use crosstie_model::{plan::InterfaceChange, renderer::Generator};
use crosstie_node::command;

use super::RendererControl;
use crate::{
    error::ManagerError,
    program::{run, run_within},
};

/// Where it puts what it makes, and how the names of those files begin.
const MADE: [(&str, &str); 2] = [
    ("/run/systemd/network", "10-netplan-"),
    ("/run/NetworkManager/system-connections", "netplan-"),
];
/// udev's rules for ports that NetworkManager is to leave alone, or not.
const UNMANAGED_PORTS: &str = "/run/udev/rules.d/90-netplan.rules";
/// It is Python, on a machine that is still starting.
const RENDER_TIMEOUT: Duration = Duration::from_secs(90);

pub(super) struct Netplan;

fn generate() -> Result<(), ManagerError> {
    // It writes them where it has any, and leaves the old ones where it has none.
    let old = fs::read(UNMANAGED_PORTS).ok();
    remove_made(Path::new(UNMANAGED_PORTS))?;
    run("netplan", &["generate"]).inspect_err(|_| {
        // What it refuses is no reason that others' ports lose theirs.
        if let Some(old) = old {
            let _ = fs::write(UNMANAGED_PORTS, old);
        }
    })?;
    Ok(())
}

fn remove_made(path: &Path) -> Result<(), ManagerError> {
    let removed = durable::remove(path);
    removed.map(drop).map_err(|source| ManagerError::Generated {
        generator: Generator::Netplan.name(),
        path: path.display().to_string(),
        source,
    })
}

impl RendererControl for Netplan {
    /// The managers are told after it.
    fn reconfigure(&self, _changes: &[&InterfaceChange]) -> Result<(), ManagerError> {
        generate()
    }

    fn reread(&self) -> Result<(), ManagerError> {
        if command::find("netplan").is_some() {
            generate()?;
        }
        Ok(())
    }

    /// What its generator made of files that are no longer there goes.
    fn render_at_boot(&self) -> Result<(), ManagerError> {
        if command::find("netplan").is_none() {
            return Ok(());
        }
        for (folder, prefix) in MADE {
            let entries = fs::read_dir(Path::new(folder)).into_iter().flatten();
            for entry in entries.flatten() {
                if entry.file_name().to_string_lossy().starts_with(prefix) {
                    remove_made(&entry.path())?;
                }
            }
        }
        remove_made(Path::new(UNMANAGED_PORTS))?;
        run_within("netplan", &["generate"], RENDER_TIMEOUT)?;
        Ok(())
    }

    fn units(&self) -> &'static [&'static str] {
        &["netplan-configure.service"]
    }

    fn files(&self) -> &'static [&'static str] {
        &["/etc/netplan"]
    }

    fn profile(&self, interface: &str) -> String {
        format!("netplan-{interface}")
    }
}
