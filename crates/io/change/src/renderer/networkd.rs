//! systemd-networkd.

use crosstie_model::{facts::net::Manager, plan::InterfaceChange};

use super::{ManagerPrograms, RendererControl};

pub(super) struct Networkd;

impl RendererControl for Networkd {
    fn reconfigure(&self, changes: &[&InterfaceChange], programs: &mut ManagerPrograms<'_>) {
        programs.run("networkctl", &["reload"]);
        for change in changes {
            programs.run("networkctl", &["reconfigure", &change.name]);
        }
    }

    fn reread(&self, programs: &mut ManagerPrograms<'_>) {
        if programs.is_running(&Manager::Networkd) {
            programs.run("networkctl", &["reload"]);
        }
    }

    fn files(&self) -> &'static [&'static str] {
        &[
            "/etc/systemd/network",
            "/etc/systemd/networkd.conf",
            "/etc/systemd/networkd.conf.d",
        ]
    }
}
