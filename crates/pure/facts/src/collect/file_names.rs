//! Names that people gave to files of network managers: a site, a provider, a Wi-Fi. A live node needs them as they are, since a
//! plan sets such files aside; a capture for others has a number in place of every name that says more than what the file is for.

use std::collections::{BTreeMap, BTreeSet};

use crate::raw::{Entry, Raw, resolve};

/// Below `/etc`, `/run` and `/usr/lib`.
const FOLDERS: [&str; 4] = [
    "netplan",
    "systemd/network",
    "NetworkManager/system-connections",
    "network/interfaces.d",
];
const ROOTS: [&str; 3] = ["etc", "run", PACKAGES];
const PACKAGES: &str = "usr/lib";

/// Behind the name of a file that was set aside, or of the folder of its drop-ins.
const SUFFIXES: [&str; 2] = [".crosstie~", ".d"];

/// Words that installers, distributions and this tool put into such names, and those for what a file is about.
const WORDS: &str = " netplan nm networkmanager network networks manager all cloud init config installer subiquity curtin fabric crosstie \
     ethernet eth wired wire lan default dhcp static persistent link links names net interface interfaces connection connections \
     system systemd dgx nvidia mlx mlx5 mellanox connectx cx7 roce rdma ib infiniband bond bridge vlan mgmt management main base \
     local server custom wait online zz virtualization container containers host0 ve vz vm vif tun tap 6rd ipip sit gre loopback lo \
     dummy wifi wlan wireless adhoc vpn wg wireguard modem mac macvlan address addresses mtu policy any first second third cage cages \
     port ports twin twins cable override conf ";

/// In place of a name.
const PLACEHOLDER: &str = "file";

/// The same tree with such names in place of those that people chose. Their numbers, by which managers order them, stay; so do
/// names that a package gave, also to the files that take the place of its own.
pub fn renamed(raw: &Raw) -> Raw {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut packaged: BTreeSet<&str> = BTreeSet::new();
    for (path, _) in raw.tree() {
        if let Some((folder, inside)) = split(path) {
            let found = inside.split('/').map(|name| stem(name).0);
            if folder.starts_with(PACKAGES) {
                packaged.extend(found);
            } else {
                names.extend(found);
            }
        }
    }
    names.retain(|name| !packaged.contains(name));
    let mut new: BTreeMap<&str, String> = BTreeMap::new();
    let mut count = 0;
    for name in names.iter().filter(|name| tells_more(name)) {
        loop {
            count += 1;
            let made = placeholder(name, count);
            if !names.contains(made.as_str()) && !packaged.contains(made.as_str()) {
                new.insert(name, made);
                break;
            }
        }
    }
    let mut kept = Raw::new(raw.meta.clone());
    for (name, entry) in raw.commands() {
        kept.insert_command(name, entry.clone());
    }
    let moved = linked_from_elsewhere(raw);
    let sources: BTreeSet<&str> = moved.values().map(String::as_str).collect();
    for (path, entry) in raw.tree().filter(|(path, _)| !sources.contains(path)) {
        let entry = match moved.get(path).and_then(|source| raw.entry(source)) {
            Some(file) => file,
            None => entry,
        };
        kept.insert(&renamed_path(path, &new), renamed_target(entry, &new));
    }
    kept
}

/// The folder that a path is in, and the rest of it.
fn split(path: &str) -> Option<(&str, &str)> {
    let root = ROOTS.iter().find(|root| path.starts_with(**root))?;
    let below = path[root.len()..].strip_prefix('/')?;
    let folder = FOLDERS.iter().find(|folder| below.starts_with(**folder))?;
    let inside = below[folder.len()..].strip_prefix('/')?;
    Some((&path[..path.len() - inside.len()], inside))
}

/// Without what says that it was set aside, and that.
fn stem(name: &str) -> (&str, &str) {
    let suffix = SUFFIXES.iter().find(|suffix| name.ends_with(**suffix));
    name.split_at(name.len() - suffix.map_or(0, |suffix| suffix.len()))
}

fn tells_more(name: &str) -> bool {
    let words = name.split(['-', '_', '.', ' ', '@']);
    !words.filter(|word| !word.is_empty()).all(is_of_course)
}

fn is_of_course(word: &str) -> bool {
    const ENDINGS: [&str; 5] = ["yaml", "yml", "network", "netdev", "nmconnection"];
    const HARDWARE: [&str; 3] = ["en", "eth", "ib"];
    let lower = word.to_ascii_lowercase();
    let is_interface = HARDWARE.iter().any(|start| word.starts_with(start))
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let numbered = lower.strip_prefix(PLACEHOLDER).unwrap_or(&lower);
    let is_number = numbered.bytes().all(|byte| byte.is_ascii_digit());
    // A part of a UUID.
    let is_hexadecimal = matches!(word.len(), 4 | 8 | 12)
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.bytes().any(|byte| byte.is_ascii_digit());
    is_interface
        || is_number
        || is_hexadecimal
        || ENDINGS.contains(&lower.as_str())
        || WORDS.contains(&format!(" {lower} "))
}

/// `50-somewhere.yaml` → `50-file1.yaml`.
fn placeholder(name: &str, number: usize) -> String {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let separator = name[digits..].starts_with(['-', '_']);
    let first = &name[..digits + usize::from(separator && digits > 0)];
    let last = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let ending = if is_of_course(last) && !last.is_empty() {
        format!(".{last}")
    } else {
        String::new()
    };
    format!("{first}{PLACEHOLDER}{number}{ending}")
}

fn renamed_name(name: &str, new: &BTreeMap<&str, String>) -> Option<String> {
    let (stem, suffix) = stem(name);
    Some(format!("{}{suffix}", new.get(stem)?))
}

fn renamed_path(path: &str, new: &BTreeMap<&str, String>) -> String {
    let Some((folder, inside)) = split(path) else {
        return path.to_owned();
    };
    let names = inside.split('/');
    let names = names.map(|name| renamed_name(name, new).unwrap_or_else(|| name.to_owned()));
    format!("{folder}{}", names.collect::<Vec<_>>().join("/"))
}

/// A link from one such folder to another keeps leading there.
fn renamed_target(entry: &Entry, new: &BTreeMap<&str, String>) -> Entry {
    let Entry::Link(target) = entry else {
        return entry.clone();
    };
    let (folder, name) = target.rsplit_once('/').unwrap_or(("", target));
    match renamed_name(name, new) {
        Some(name) if folder.is_empty() => Entry::Link(name),
        Some(name) => Entry::Link(format!("{folder}/{name}")),
        None => entry.clone(),
    }
}

/// Files of such folders that lie somewhere else, by the links to them: whose home that is, is nobody's business.
fn linked_from_elsewhere(raw: &Raw) -> BTreeMap<&str, String> {
    let links = raw.tree().filter_map(|(path, entry)| match entry {
        Entry::Link(target) => split(path).map(|_| (path, target)),
        _ => None,
    });
    let found = links.filter_map(|(path, target)| {
        let directory: Vec<&str> = path.split('/').collect();
        let source = resolve(&directory[..directory.len() - 1], target).join("/");
        let is_elsewhere = split(&source).is_none();
        let is_file = matches!(raw.entry(&source), Some(Entry::File(_) | Entry::Gap(_)));
        (is_elsewhere && is_file).then_some((path, source))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> Raw {
        let mut raw = Raw::default();
        for path in paths {
            raw.insert(path, Entry::File(b"x".to_vec()));
        }
        raw
    }

    fn paths(raw: &Raw) -> Vec<&str> {
        raw.tree().map(|(path, _)| path).collect()
    }

    #[test]
    fn what_people_called_a_file_is_a_number_and_what_packages_did_stays() {
        let raw = tree(&[
            "etc/netplan/01-network-manager-all.yaml",
            "etc/netplan/50-cloud-init.yaml",
            "etc/netplan/60-acme-guest.yaml",
            "etc/netplan/60-zebra.yaml.crosstie~",
            "etc/netplan/90-NM-6ba7b810-9dad-11d1-80b4-00c04fd430c8.yaml",
            "etc/systemd/network/10-netplan-enp1s0f0np0.network",
            "etc/systemd/network/acme.network",
            "etc/systemd/network/acme.network.d/more.conf",
            "usr/lib/systemd/network/80-6rd-tunnel.network",
            "etc/systemd/network/80-6rd-tunnel.network",
            "etc/NetworkManager/system-connections/HomeNet 5G.nmconnection",
            "proc/acme",
        ]);
        let kept = renamed(&raw);
        assert_eq!(
            paths(&kept),
            [
                "etc/NetworkManager/system-connections/file3.nmconnection",
                "etc/netplan/01-network-manager-all.yaml",
                "etc/netplan/50-cloud-init.yaml",
                "etc/netplan/60-file1.yaml",
                "etc/netplan/60-file2.yaml.crosstie~",
                "etc/netplan/90-NM-6ba7b810-9dad-11d1-80b4-00c04fd430c8.yaml",
                "etc/systemd/network/10-netplan-enp1s0f0np0.network",
                "etc/systemd/network/80-6rd-tunnel.network",
                "etc/systemd/network/file4.network",
                "etc/systemd/network/file4.network.d/file5.conf",
                "proc/acme",
                "usr/lib/systemd/network/80-6rd-tunnel.network",
            ]
        );
        assert_eq!(renamed(&kept), kept);
    }

    #[test]
    fn a_file_that_lies_elsewhere_is_where_the_link_to_it_was() {
        let mut raw = tree(&["home/alice/acme.yaml", "etc/systemd/network/acme.network"]);
        let link = |target: &str| Entry::Link(target.to_owned());
        raw.insert("etc/netplan/acme.yaml", link("/home/alice/acme.yaml"));
        raw.insert(
            "run/systemd/network/a.network",
            link("/etc/systemd/network/acme.network"),
        );
        raw.insert("etc/systemd/network/99-default.link", link("/dev/null"));
        let kept = renamed(&raw);
        assert_eq!(
            kept.entry("etc/netplan/file3.yaml"),
            raw.entry("home/alice/acme.yaml")
        );
        assert_eq!(
            kept.entry("etc/systemd/network/99-default.link"),
            Some(&link("/dev/null"))
        );
        let moved = kept.entry("run/systemd/network/file1.network");
        assert_eq!(moved, Some(&link("/etc/systemd/network/file2.network")));
        let text = format!("{kept:?}");
        assert!(!text.contains("acme") && !text.contains("alice"), "{text}");
    }
}
