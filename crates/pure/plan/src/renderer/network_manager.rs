//! `NetworkManager`'s profiles.

use std::fmt::Write;

use crosstie_model::{
    Facts, Renderer,
    facts::{net::Manager, persistence::InterfaceProfile},
    plan::FileMode,
    word,
};
use ipnet::IpNet;

use super::{NewFile, RendererPlan, Settings, WantedInterface};

const PROFILES: &str = "/etc/NetworkManager/system-connections/";
const CARRIER: &str = "/etc/NetworkManager/conf.d/90-crosstie.conf";

pub(super) struct NetworkManager;

impl RendererPlan for NetworkManager {
    fn folders(&self) -> &'static [(&'static str, FileMode)] {
        &[
            (PROFILES, FileMode::Private),
            ("/etc/NetworkManager/", FileMode::Public),
        ]
    }

    fn files(&self, wanted: &[WantedInterface]) -> Vec<NewFile> {
        let profiles = wanted.iter();
        let profiles = profiles.filter(|one| one.renderer == Renderer::NetworkManager);
        let mut files: Vec<NewFile> = profiles
            .map(|one| {
                let path = format!("{PROFILES}crosstie-{}.nmconnection", one.name);
                (path, keyfile(one))
            })
            .collect();
        let managed: Vec<&WantedInterface> = wanted.iter().filter(|one| is_for(one)).collect();
        if !managed.is_empty() {
            files.push((CARRIER.to_owned(), carrier(&managed)));
        }
        files
    }

    /// Ours has priority over what packages ship.
    fn is_heard(&self, own: &WantedInterface, profile: &InterfaceProfile) -> bool {
        is_for(own) && profile.file.starts_with("/etc/")
    }

    fn keep(&self, facts: &Facts, settings: &Settings) -> Option<Vec<String>> {
        let manager = Manager::NetworkManager;
        let is_there = settings.interface.manager == manager || manager.is_running(facts);
        let name = &settings.interface.name;
        (is_there && !settings.addresses.is_empty()).then(|| {
            vec![format!(
                "sudo nmcli connection add type ethernet con-name {} ifname {} 802-3-ethernet.mtu {} ipv4.method manual \
                 ipv4.addresses {} ipv6.method link-local",
                word(&format!("fabric-{name}")),
                word(name),
                settings.mtu,
                settings.addresses.join(",")
            )]
        })
    }
}

fn is_for(wanted: &WantedInterface) -> bool {
    wanted.renderer.manager() == Manager::NetworkManager
}

/// A profile without a UUID gets one from its file's name, so it stays the same.
fn keyfile(wanted: &WantedInterface) -> String {
    let name = &wanted.name;
    let mut text = format!(
        "[connection]\nid=crosstie-{name}\ntype=ethernet\ninterface-name={name}\nautoconnect=true\nautoconnect-priority=100\n\n[ethernet]\n"
    );
    if let Some(mtu) = wanted.mtu {
        let _ = writeln!(text, "mtu={mtu}");
    }
    family(&mut text, "ipv4", &wanted.addresses, "disabled", |net| {
        matches!(net, IpNet::V4(_))
    });
    family(&mut text, "ipv6", &wanted.addresses, "link-local", |net| {
        matches!(net, IpNet::V6(_))
    });
    text
}

fn family(
    text: &mut String,
    section: &str,
    addresses: &[IpNet],
    otherwise: &str,
    is_own: fn(&IpNet) -> bool,
) {
    let own: Vec<&IpNet> = addresses.iter().filter(|net| is_own(net)).collect();
    let method = if own.is_empty() { otherwise } else { "manual" };
    let _ = write!(text, "\n[{section}]\nmethod={method}\n");
    for (number, address) in (1..).zip(&own) {
        let _ = writeln!(text, "address{number}={address}");
    }
    if !own.is_empty() {
        // A fabric is no way out.
        text.push_str("never-default=true\n");
    }
}

/// Addresses, and so GID indices, stay when the link flaps.
fn carrier(interfaces: &[&WantedInterface]) -> String {
    let names = interfaces
        .iter()
        .map(|wanted| format!("interface-name:{}", wanted.name));
    let names: Vec<String> = names.collect();
    format!(
        "[device-crosstie]\nmatch-device={}\nignore-carrier=yes\n",
        names.join(",")
    )
}
