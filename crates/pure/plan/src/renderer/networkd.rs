//! systemd.network files. There is no .link file: it would replace the one that names the interface.

use std::fmt::Write;

use crosstie_model::{
    Renderer,
    facts::{net::Manager, persistence::InterfaceProfile},
    plan::FileMode,
};

use super::{NewFile, RendererPlan, WantedInterface, generator};

const FOLDER: &str = "/etc/systemd/network/";
/// Sorted before any netplan file (`10-netplan-…`): the first that matches an interface is the one in force.
const PREFIX: &str = "05-crosstie-";

pub(super) struct Networkd;

impl RendererPlan for Networkd {
    fn folders(&self) -> &'static [(&'static str, FileMode)] {
        // networkd reads its files as a user of its own.
        &[(FOLDER, FileMode::Public)]
    }

    fn files(&self, wanted: &[WantedInterface]) -> Vec<NewFile> {
        let own = wanted.iter();
        let own = own.filter(|one| one.renderer == Renderer::Networkd);
        own.map(|one| {
            let path = format!("{FOLDER}{PREFIX}{}.network", one.name);
            (path, network(one))
        })
        .collect()
    }

    /// The first file that matches is in force.
    fn is_heard(&self, own: &WantedInterface, profile: &InterfaceProfile) -> bool {
        if own.renderer.manager() != Manager::Networkd {
            return false;
        }
        let file = profile.file.rsplit('/').next().unwrap_or("");
        let made = own.renderer.generator();
        file < made.map_or(PREFIX, |made| generator(made).made_prefix())
    }
}

fn network(wanted: &WantedInterface) -> String {
    let mut text = format!(
        "[Match]\nName={}\n\n[Link]\nRequiredForOnline=no\n",
        wanted.name
    );
    if let Some(mtu) = wanted.mtu {
        let _ = writeln!(text, "MTUBytes={mtu}");
    }
    text.push_str("\n[Network]\nDHCP=no\nIPv6AcceptRA=no\nLinkLocalAddressing=ipv6\n");
    // Addresses, and so GID indices, stay when the link flaps.
    text.push_str("ConfigureWithoutCarrier=yes\nIgnoreCarrierLoss=yes\n");
    for address in &wanted.addresses {
        let _ = writeln!(text, "Address={address}");
    }
    text
}
