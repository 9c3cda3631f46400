//! systemd-networkd.

use crosstie_model::{facts::net::Manager, plan::InterfaceChange};

use super::{RendererControl, is_running};
use crate::{error::ManagerError, program::run};

pub(super) struct Networkd;

impl RendererControl for Networkd {
    fn reconfigure(&self, changes: &[&InterfaceChange]) -> Result<(), ManagerError> {
        run("networkctl", &["reload"])?;
        for change in changes {
            run("networkctl", &["reconfigure", &change.name])?;
        }
        Ok(())
    }

    fn reread(&self) -> Result<(), ManagerError> {
        if is_running(&Manager::Networkd) {
            run("networkctl", &["reload"])?;
        }
        Ok(())
    }

    fn files(&self) -> &'static [&'static str] {
        &[
            "/etc/systemd/network",
            "/etc/systemd/networkd.conf",
            "/etc/systemd/networkd.conf.d",
        ]
    }
}
