//! Netplan's YAML. The renderer stands with each interface: a global one would move others, management too.

use std::{collections::BTreeSet, fmt::Write};

use crosstie_model::{
    Facts,
    facts::{net::Manager, persistence::InterfaceProfile},
    plan::{FileMode, PlanRefusal},
    renderer::Generator,
    word,
};

use super::{GeneratorPlan, NewFile, RendererPlan, Settings, WantedInterface};

const FILE: &str = "/etc/netplan/90-crosstie.yaml";

/// As its files name managers. The first is what it takes where they do not.
const MANAGERS: [(Manager, &str); 2] = [
    (Manager::Networkd, NETWORKD),
    (Manager::NetworkManager, "NetworkManager"),
];
const NETWORKD: &str = "networkd";

const PACKAGE: &str = "netplan.io";
/// Where the generator has a package of its own.
const GENERATOR_PACKAGE: &str = "netplan-generator";

pub(super) struct Netplan;

impl RendererPlan for Netplan {
    fn folders(&self) -> &'static [(&'static str, FileMode)] {
        &[("/etc/netplan/", FileMode::Private)]
    }

    fn files(&self, wanted: &[WantedInterface]) -> Vec<NewFile> {
        let own: Vec<&WantedInterface> = wanted.iter().filter(|one| is_for(one)).collect();
        let file = (!own.is_empty()).then(|| (FILE.to_owned(), text(&own)));
        file.into_iter().collect()
    }

    /// It adds up what all files say.
    fn is_heard(&self, _own: &WantedInterface, _profile: &InterfaceProfile) -> bool {
        true
    }

    fn obstacle(&self, facts: &Facts, file: &str) -> Option<&'static str> {
        let netplan = facts.persistence.netplan.iter();
        let own = netplan.clone().find(|found| found.file == file)?;
        if own.others {
            return Some("it is for other interfaces too");
        }
        let renderer = |without: &str| {
            let rest = netplan.clone().rev().filter(|found| found.file != without);
            let mut set = rest.filter_map(|found| found.renderer.as_deref());
            set.next().unwrap_or(NETWORKD)
        };
        (renderer(file) != renderer(""))
            .then_some("its `renderer` holds for every file of netplan's")
    }

    fn refusals(&self, facts: &Facts, wanted: &[WantedInterface]) -> Vec<PlanRefusal> {
        if !wanted.iter().any(is_for) {
            return Vec::new();
        }
        let broken = facts.persistence.broken.iter();
        let broken = broken.map(|(file, error)| PlanRefusal::BrokenNetplan {
            file: file.clone(),
            error: error.clone(),
        });
        broken.chain(unapplied(facts)).collect()
    }

    fn keep(&self, facts: &Facts, settings: &Settings) -> Option<Vec<String>> {
        facts.software.package(PACKAGE)?;
        let body = format!(
            "ethernets.{}={{dhcp4: false, mtu: {}, addresses: [{}]}}",
            settings.interface.name,
            settings.mtu,
            settings.addresses.join(", ")
        );
        Some(vec![
            format!("sudo netplan set --origin-hint 40-fabric {}", word(&body)),
            "sudo netplan generate".to_owned(),
        ])
    }
}

impl GeneratorPlan for Netplan {
    fn is_used(&self, facts: &Facts) -> bool {
        let persistence = &facts.persistence;
        let declared = persistence.profiles.iter().any(is_own);
        let installed = [PACKAGE, GENERATOR_PACKAGE]
            .iter()
            .any(|package| facts.software.package(package).is_some());
        let files = !persistence.netplan.is_empty() || !persistence.broken.is_empty();
        // A capture without dpkg's status may still show the files.
        declared || files && (installed || facts.software.packages.known().is_none())
    }

    fn named(&self, facts: &Facts) -> Option<Manager> {
        let mut files = facts.persistence.netplan.iter().rev();
        let renderer = files.find_map(|file| file.renderer.as_deref())?;
        let known = MANAGERS.iter().find(|(_, name)| *name == renderer);
        Some(known.map_or_else(|| self.default_manager(), |(manager, _)| manager.clone()))
    }

    fn default_manager(&self) -> Manager {
        Manager::Networkd
    }

    fn made_prefix(&self) -> &'static str {
        "10-netplan-"
    }
}

fn is_for(wanted: &WantedInterface) -> bool {
    wanted.renderer.generator() == Some(Generator::Netplan)
}

fn is_own(profile: &InterfaceProfile) -> bool {
    profile.format.generator() == Some(Generator::Netplan)
}

fn text(interfaces: &[&WantedInterface]) -> String {
    let mut text = String::from("network:\n  version: 2\n  ethernets:\n");
    for wanted in interfaces {
        let manager = wanted.renderer.manager();
        let known = MANAGERS.iter().find(|(known, _)| *known == manager);
        let renderer = known.map_or(NETWORKD, |(_, name)| name);
        // `optional`: an unplugged cable must not hold up the boot.
        let _ = write!(
            text,
            "    {}:\n      renderer: {renderer}\n      optional: true\n      dhcp4: false\n      dhcp6: false\n      \
             accept-ra: false\n",
            quoted(&wanted.name)
        );
        if renderer == NETWORKD {
            // Addresses, and so GID indices, stay when the link flaps.
            text.push_str("      ignore-carrier: true\n");
        }
        if let Some(mtu) = wanted.mtu {
            let _ = writeln!(text, "      mtu: {mtu}");
        }
        if !wanted.addresses.is_empty() {
            text.push_str("      addresses:\n");
        }
        for address in &wanted.addresses {
            let _ = writeln!(text, "        - {}", quoted(&address.to_string()));
        }
    }
    text
}

/// JSON's strings are YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Interfaces of which netplan's files say something else than what it last made of them. Only those can be told whose
/// names are written out.
fn unapplied(facts: &Facts) -> Vec<PlanRefusal> {
    let Some(rendered) = facts.persistence.rendered.known() else {
        return Vec::new();
    };
    let declared = facts.persistence.profiles.iter();
    let declared: Vec<&InterfaceProfile> = declared.filter(|profile| is_own(profile)).collect();
    // A definition by MAC address or driver may be any of the rendered ones.
    if declared.iter().any(|profile| literal(profile).is_none()) {
        return Vec::new();
    }
    let names = declared.iter().copied().chain(rendered).filter_map(literal);
    let names: BTreeSet<&str> = names.collect();
    names
        .into_iter()
        .filter_map(|name| {
            let of = |profile: &&InterfaceProfile| literal(profile) == Some(name);
            let made: Vec<&InterfaceProfile> = rendered.iter().filter(of).collect();
            let said: Vec<&InterfaceProfile> = declared.iter().copied().filter(of).collect();
            let file = said
                .first()
                .or(made.first())
                .map(|found| found.file.clone());
            let differs =
                said.is_empty() != made.is_empty() || addresses(&said) != addresses(&made);
            differs.then(|| PlanRefusal::UnappliedNetplan {
                interface: name.to_owned(),
                file: file.unwrap_or_default(),
            })
        })
        .collect()
}

fn literal(profile: &InterfaceProfile) -> Option<&str> {
    let conditions = &profile.matches;
    match conditions.names.as_slice() {
        [name] if conditions.macs.is_empty() && !name.contains(['*', '?', '[']) => Some(name),
        _ => None,
    }
}

fn addresses<'a>(profiles: &[&'a InterfaceProfile]) -> BTreeSet<&'a str> {
    let all = profiles.iter().flat_map(|profile| &profile.addresses);
    all.map(String::as_str).collect()
}
