//! Interface definitions in the files of every network manager, and modules that the boot loads.

mod ifupdown;
mod keyfile;
mod netplan;
mod networkd;

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{
    Reading,
    facts::persistence::{Persistence, Profile},
    managed::ASIDE,
};

use crate::Raw;

/// Where systemd and netplan look, the strongest place first: a file hides its namesakes further down.
const PLACES: [&str; 3] = ["etc", "run", "usr/lib"];

pub(super) fn persistence(raw: &Raw) -> Persistence {
    let mut found = Persistence {
        modules: modules(raw),
        cx7_hotplug_marker: raw.exists("etc/nvidia/cx7-hotplug-enabled"),
        rendered: rendered(raw),
        ..Persistence::default()
    };
    netplan::read(raw, &mut found);
    for place in PLACES {
        let directory = format!("{place}/NetworkManager/system-connections");
        // Netplan renders its own profiles into /run: those are counted where they are declared.
        each(
            raw,
            &directory,
            "",
            &mut found,
            |name| !name.starts_with("netplan-") && !name.ends_with(ASIDE),
            keyfile::parse,
        );
    }
    for (place, names) in unhidden(raw, "systemd/network") {
        let wanted = |name: &str| names.contains(name) && !name.contains("-netplan-");
        each(
            raw,
            &format!("{place}/systemd/network"),
            ".network",
            &mut found,
            wanted,
            networkd::parse,
        );
    }
    each(
        raw,
        "etc/network/interfaces.d",
        "",
        &mut found,
        |_| true,
        ifupdown::parse,
    );
    if let Some(text) = raw.text("etc/network/interfaces").known() {
        found
            .profiles
            .extend(ifupdown::parse("/etc/network/interfaces", text));
    }
    found
}

/// Netplan's own output: profiles by the names that it gives them.
fn rendered(raw: &Raw) -> Reading<Vec<Profile>> {
    let mut found = Persistence::default();
    each(
        raw,
        "run/NetworkManager/system-connections",
        "",
        &mut found,
        |name| name.starts_with("netplan-"),
        keyfile::parse,
    );
    each(
        raw,
        "run/systemd/network",
        ".network",
        &mut found,
        |name| name.contains("-netplan-"),
        networkd::parse,
    );
    Reading::from((!found.profiles.is_empty()).then_some(found.profiles))
}

/// The names in each place that no stronger place holds too.
fn unhidden<'a>(raw: &'a Raw, directory: &str) -> Vec<(&'static str, BTreeSet<&'a str>)> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    PLACES
        .into_iter()
        .map(|place| {
            let names: BTreeSet<&str> = raw
                .names(&format!("{place}/{directory}"))
                .into_iter()
                .filter(|name| !seen.contains(name))
                .collect();
            seen.extend(&names);
            (place, names)
        })
        .collect()
}

fn each(
    raw: &Raw,
    directory: &str,
    suffix: &str,
    found: &mut Persistence,
    wanted: impl Fn(&str) -> bool,
    parse: fn(&str, &str) -> Vec<Profile>,
) {
    let names = raw.names(directory).into_iter();
    for name in names.filter(|name| name.ends_with(suffix) && wanted(name)) {
        let path = format!("{directory}/{name}");
        if let Some(text) = raw.text(&path).known() {
            found.profiles.extend(parse(&format!("/{path}"), text));
        }
    }
}

/// Lines of modules-load.d and /etc/modules, hyphen and underscore being the same.
fn modules(raw: &Raw) -> BTreeMap<String, String> {
    let places = PLACES.iter().flat_map(|place| {
        let directory = format!("{place}/modules-load.d");
        raw.names(&directory)
            .into_iter()
            .map(|name| format!("{directory}/{name}"))
            .collect::<Vec<_>>()
    });
    places
        .chain(["etc/modules".to_owned()])
        .flat_map(|path| {
            let text = raw.text(&path).into_known().unwrap_or("");
            let names = text
                .lines()
                .filter_map(|line| line.split_whitespace().next());
            let names = names.filter(|name| !name.starts_with(['#', ';']));
            names
                .map(|name| (name.replace('-', "_"), format!("/{path}")))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// A section of an INI-like file, with its assignments in order.
fn sections(text: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let mut sections: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', ';']))
    {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            sections.push((name, Vec::new()));
        } else if let (Some((key, value)), Some((_, body))) =
            (line.split_once('='), sections.last_mut())
        {
            body.push((key.trim(), value.trim()));
        }
    }
    sections
}
