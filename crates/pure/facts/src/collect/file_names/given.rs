//! Names of files that programs give, and ours in place of those that people do.

use std::{collections::BTreeSet, ops::Bound};

use crate::collect::interface_name::is_given_by_system;

/// Whole names, by who writes a file so called.
const WHOLE: [&str; 11] = [
    // subiquity, Ubuntu's installer
    "00-installer-config.yaml",
    "00-installer-config-wifi.yaml",
    // debian-installer on Ubuntu
    "01-netcfg.yaml",
    // Ubuntu's desktop, and netplan's own default
    "00-network-manager-all.yaml",
    "01-network-manager-all.yaml",
    // cloud-init: netplan, ifupdown
    "50-cloud-init.yaml",
    "50-cloud-init",
    // systemd, where /usr/lib is not read
    "99-default.link",
    // procps: a link to /etc/sysctl.conf
    "99-sysctl.conf",
    // kmod: a link to /etc/modules
    "modules.conf",
    // ifupdown
    "lo",
];

/// In place of a name.
const PLACEHOLDER: &str = "file";
/// Where that would change the order in which files are read.
const BEFORE: &str = "a-";
const AFTER: &str = "z-";

/// Endings that tell which program reads a file, and nothing else.
const ENDINGS: [&str; 8] = [
    "conf",
    "link",
    "netdev",
    "network",
    "nmconnection",
    "sh",
    "yaml",
    "yml",
];

pub(super) fn is_given(name: &str) -> bool {
    // A number alone says nothing.
    let is_told_by_number = is_number(split(name).0);
    WHOLE.contains(&name) || is_told_by_number || is_of_netplan(name) || is_of_network_manager(name)
}

/// What netplan generates: `10-netplan-enp1s0f0np0.network`, `netplan-eno1.nmconnection`.
fn is_of_netplan(name: &str) -> bool {
    let (stem, ending) = split(name);
    let networkd = stem.strip_prefix("10-netplan-");
    let network_manager = stem.strip_prefix("netplan-");
    let interface = networkd.or(network_manager);
    ENDINGS.contains(&ending) && interface.is_some_and(is_given_by_system)
}

/// `90-NM-6ba7b810-9dad-11d1-80b4-00c04fd430c8.yaml`, `Wired connection 1.nmconnection`.
fn is_of_network_manager(name: &str) -> bool {
    let (stem, _) = split(name);
    let is_hexadecimal = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_uuid = |text: &str| {
        let lengths = text.split('-').map(str::len);
        lengths.eq([8, 4, 4, 4, 12]) && text.split('-').all(is_hexadecimal)
    };
    let connection = stem.strip_prefix("Wired connection ");
    stem.strip_prefix("90-NM-").is_some_and(is_uuid) || connection.is_some_and(is_number)
}

pub(super) fn is_placeholder(name: &str) -> bool {
    number(name).is_some()
}

/// The number of a placeholder: `50-file1.yaml`, `z-file02.conf`.
pub(super) fn number(name: &str) -> Option<usize> {
    let (stem, _) = split(name);
    let (_, rest) = ordered(stem);
    let rest = [BEFORE, AFTER]
        .iter()
        .find_map(|first| rest.strip_prefix(first))
        .unwrap_or(rest);
    let number = rest.strip_prefix(PLACEHOLDER)?;
    number.parse().ok().filter(|_| is_number(number))
}

/// `50-somewhere.yaml` → `50-file1.yaml`: in the place that the name had among those that stay, and among all that are
/// numbered.
pub(super) fn placeholder(
    name: &str,
    number: usize,
    count: usize,
    stay: &BTreeSet<&str>,
) -> String {
    let (stem, ending) = split(name);
    let (order, _) = ordered(stem);
    let ending = if ending.is_empty() {
        ""
    } else {
        &name[stem.len()..]
    };
    let width = count.to_string().len();
    let made = ["", BEFORE, AFTER]
        .map(|first| format!("{order}{first}{PLACEHOLDER}{number:0width$}{ending}"));
    let found = made
        .iter()
        .find(|made| last_before(stay, made) == last_before(stay, name));
    found.unwrap_or(&made[0]).clone()
}

fn last_before<'a>(names: &BTreeSet<&'a str>, name: &str) -> Option<&'a str> {
    let range = (Bound::Unbounded, Bound::Excluded(name));
    names.range::<str, _>(range).next_back().copied()
}

/// What is before a known ending, and that.
fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((stem, ending)) if ENDINGS.contains(&ending) => (stem, ending),
        _ => (name, ""),
    }
}

/// The number by which files are ordered, with what follows it, and the rest.
fn ordered(stem: &str) -> (&str, &str) {
    let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
    let is_separated = digits > 0 && stem[digits..].starts_with(['-', '_']);
    stem.split_at(digits + usize::from(is_separated))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
