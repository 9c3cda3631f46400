//! What the files of several have in common.

use std::collections::BTreeSet;

use crosstie_model::facts::{net::Manager, persistence::InterfaceProfile};

use super::ALL;
use crate::RawCapture;

/// Where systemd and netplan look, the strongest place first: a file hides its namesakes further down.
pub(crate) const PLACES: [&str; 3] = ["etc", "run", "usr/lib"];

pub(super) type Parse = fn(&str, &str) -> Vec<InterfaceProfile>;

/// The profiles in the files of a folder that are `wanted`.
pub(super) fn each(
    raw: &RawCapture,
    folder: &str,
    wanted: impl Fn(&str) -> bool,
    parse: Parse,
) -> Vec<InterfaceProfile> {
    let names = raw.names(folder).into_iter();
    let mut found = Vec::new();
    for name in names.filter(|name| wanted(name)) {
        let path = format!("{folder}/{name}");
        if let Some(text) = raw.text(&path).known() {
            found.extend(parse(&format!("/{path}"), text));
        }
    }
    found
}

/// The names in each place that no stronger place holds too.
pub(super) fn unhidden<'a>(
    raw: &'a RawCapture,
    folder: &str,
) -> Vec<(&'static str, BTreeSet<&'a str>)> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    PLACES
        .into_iter()
        .map(|place| {
            let names: BTreeSet<&str> = raw
                .names(&format!("{place}/{folder}"))
                .into_iter()
                .filter(|name| !seen.contains(name))
                .collect();
            seen.extend(&names);
            (place, names)
        })
        .collect()
}

/// Whether a generator made a manager's file of this name: such files are counted where they are declared.
pub(super) fn is_made(manager: &Manager, name: &str) -> bool {
    let made = ALL.iter().flat_map(|one| one.makes());
    let mut made = made.filter(|(by, _)| by == manager);
    made.any(|(_, prefix)| name.starts_with(prefix))
}

/// A section of an INI-like file, with its assignments in order.
pub(super) fn sections(text: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
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
