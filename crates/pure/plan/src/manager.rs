//! Whose files an interface is written in: those of the manager that really runs it.

use crosstie_model::{
    Facts,
    facts::{net::Interface, net::Manager, persistence::Format},
    plan::{Refusal, Renderer},
};

pub(crate) fn renderer(facts: &Facts, interface: &Interface) -> Result<Renderer, Refusal> {
    let name = || interface.name.clone();
    let netplan = uses_netplan(facts);
    let running = |unit: &str| facts.software.services.iter().any(|found| found == unit);
    let network_manager = || {
        if netplan {
            Renderer::NetplanNetworkManager
        } else {
            Renderer::NetworkManager
        }
    };
    let networkd = || {
        if netplan {
            Renderer::NetplanNetworkd
        } else {
            Renderer::Networkd
        }
    };
    match interface.manager {
        Manager::NetworkManager => Ok(network_manager()),
        Manager::Networkd => Ok(networkd()),
        Manager::Ifupdown => Err(Refusal::Ifupdown { interface: name() }),
        // Nobody claims it: whoever is there may have it, and the one that netplan is set to comes first.
        Manager::Nobody | Manager::Unknown => {
            let mut files = facts.persistence.netplan.iter().rev();
            let wanted = files.find_map(|file| file.renderer.as_deref());
            let manager = running("NetworkManager");
            // A capture without services tells nothing of them; netplan's own default is networkd.
            let untold = facts.software.services.is_empty() && netplan;
            match (manager, running("systemd-networkd")) {
                (false, false) if untold && wanted == Some("NetworkManager") => {
                    Ok(network_manager())
                }
                (false, false) if untold => Ok(networkd()),
                (true, false) => Ok(network_manager()),
                (true, true) if wanted == Some("NetworkManager") => Ok(network_manager()),
                (_, true) => Ok(networkd()),
                (false, false) => Err(Refusal::NoManager { interface: name() }),
            }
        }
    }
}

/// Netplan is there and is what people here write their files for.
fn uses_netplan(facts: &Facts) -> bool {
    let profiles = facts.persistence.profiles.iter();
    let mut formats = profiles.map(|profile| profile.format);
    let declared = formats.any(|format| {
        matches!(
            format,
            Format::NetplanNetworkManager | Format::NetplanNetworkd
        )
    });
    let installed = ["netplan.io", "netplan-generator"]
        .iter()
        .any(|package| facts.software.package(package).is_some());
    let files = !facts.persistence.netplan.is_empty() || !facts.persistence.broken.is_empty();
    // A capture without dpkg's status may still show the files.
    declared || files && (installed || facts.software.packages.known().is_none())
}
