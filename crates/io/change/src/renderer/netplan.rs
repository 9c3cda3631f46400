//! netplan. Never `netplan apply`: it takes management down for a moment, and brings up whatever else lies in `/etc/netplan`.

use std::{fs, path::Path, time::Duration};

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
/// It is Python, on a machine that is still starting.
const RENDER_TIMEOUT: Duration = Duration::from_secs(90);

pub(super) struct Netplan;

impl RendererControl for Netplan {
    /// The managers are told after it.
    fn reconfigure(&self, _changes: &[&InterfaceChange]) -> Result<(), ManagerError> {
        run("netplan", &["generate"])?;
        Ok(())
    }

    fn reread(&self) -> Result<(), ManagerError> {
        if command::find("netplan").is_some() {
            run("netplan", &["generate"])?;
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
                    let path = entry.path();
                    fs::remove_file(&path).map_err(|source| ManagerError::Generated {
                        generator: Generator::Netplan.name(),
                        path: path.display().to_string(),
                        source,
                    })?;
                }
            }
        }
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
