//! Names that people gave to files: a site, a provider, a Wi-Fi, themselves. A live node needs them as they are, since a plan sets
//! such files aside; a capture for others has a number in place of every name that no program gave.

mod known;

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::managed::{FileOrigin, origin};

use crate::{
    raw::{CaptureEntry, RawCapture},
    renderer,
};
pub(crate) use known::{is_number, is_uuid, split_ending};
use known::{is_placeholder, is_program_name, placeholder};

/// Where people name files, below `/etc`, `/run` and `/usr/lib`; besides, where those who configure interfaces read theirs.
const FOLDERS: [&str; 6] = [
    "systemd/system.conf.d",
    "systemd/user.conf.d",
    "modules-load.d",
    "profile.d",
    "security/limits.d",
    "sysctl.d",
];
const ROOTS: [&str; 3] = ["etc", "run", PACKAGES];
const PACKAGES: &str = "usr/lib";

/// In the name of every file that this tool writes.
const OWN_NAME: &str = "crosstie";

/// Behind the name of a file that was set aside, or of the folder of its drop-ins.
const SUFFIXES: [&str; 2] = [".crosstie~", ".d"];

/// The same tree with such names in place of those that people chose. Their numbers, by which managers order them, stay; so do
/// names that a package gave, also to the files that take the place of its own.
pub fn rename_user_files(raw: &RawCapture) -> RawCapture {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut stay: BTreeSet<&str> = BTreeSet::new();
    for (path, entry) in raw.tree() {
        let Some((folder, inside)) = split(path) else {
            continue;
        };
        let found = inside.split('/').map(|name| stem(name).0);
        let is_ours = inside.contains(OWN_NAME) && is_sealed(entry);
        if folder.starts_with(PACKAGES) || is_ours {
            stay.extend(found);
        } else {
            names.extend(found);
        }
    }
    stay.extend(
        names
            .iter()
            .filter(|name| is_program_name(name) || is_placeholder(name)),
    );
    names.retain(|name| !stay.contains(name));
    let taken: BTreeSet<usize> = stay.iter().filter_map(|name| known::number(name)).collect();
    let mut numbers = (1..).filter(|number| !taken.contains(number));
    let new: BTreeMap<&str, String> = names
        .iter()
        .zip(&mut numbers)
        .map(|(name, number)| (*name, placeholder(name, number, names.len(), &stay)))
        .collect();
    let mut kept = RawCapture::new(raw.meta.clone());
    for (name, entry) in raw.commands() {
        kept.insert_command(name, entry.clone());
    }
    for (path, entry) in raw.tree() {
        kept.insert(&renamed_path(path, &new), entry.clone());
    }
    kept
}

/// The folder that a path is in, and the rest of it.
fn split(path: &str) -> Option<(&str, &str)> {
    let root = ROOTS.iter().find(|root| path.starts_with(**root))?;
    let below = path[root.len()..].strip_prefix('/')?;
    let renderers = renderer::ALL.iter().flat_map(|one| one.folders());
    let mut folders = FOLDERS.iter().chain(renderers);
    let folder = folders.find(|folder| below.starts_with(**folder))?;
    let inside = below[folder.len()..].strip_prefix('/')?;
    Some((&path[..path.len() - inside.len()], inside))
}

/// Without what says that it was set aside, and that.
fn stem(name: &str) -> (&str, &str) {
    let suffix = SUFFIXES.iter().find(|suffix| name.ends_with(**suffix));
    name.split_at(name.len() - suffix.map_or(0, |suffix| suffix.len()))
}

/// Written by this tool, whoever has edited it since.
fn is_sealed(entry: &CaptureEntry) -> bool {
    let CaptureEntry::File(bytes) = entry else {
        return false;
    };
    std::str::from_utf8(bytes).is_ok_and(|text| origin(text) != FileOrigin::Foreign)
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

#[cfg(test)]
mod tests {
    use crosstie_model::managed::seal;

    use super::*;
    use crate::collect::rules::{FileFilter, GROUPS};

    fn tree(paths: &[&str]) -> RawCapture {
        let mut raw = RawCapture::default();
        for path in paths {
            raw.insert(path, CaptureEntry::File(b"x".to_vec()));
        }
        raw
    }

    fn paths(raw: &RawCapture) -> Vec<&str> {
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
        let kept = rename_user_files(&raw);
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
        assert_eq!(rename_user_files(&kept), kept);
    }

    /// `pam_limits` and managers read files by name: the last, or the first, wins.
    #[test]
    fn files_keep_the_order_in_which_they_are_read() {
        let mut raw = RawCapture::default();
        let ours = CaptureEntry::File(seal("* - memlock unlimited\n").into_bytes());
        raw.insert("etc/security/limits.d/90-crosstie.conf", ours);
        let mut names: Vec<String> = (b'a'..=b'z')
            .flat_map(|letter| {
                ["", "90-"].map(|order| format!("{order}{}me.conf", char::from(letter)))
            })
            .collect();
        for name in &names {
            let path = format!("etc/security/limits.d/{name}");
            raw.insert(&path, CaptureEntry::File(name.clone().into_bytes()));
        }
        names.sort();
        let kept = rename_user_files(&raw);
        let all: Vec<(&str, &CaptureEntry)> = kept.tree().collect();
        let place = all
            .iter()
            .position(|(path, _)| path.ends_with("/90-crosstie.conf"));
        let before = names
            .iter()
            .filter(|name| name.as_str() < "90-crosstie.conf");
        assert_eq!(place, Some(before.count()), "{:?}", paths(&kept));
        let read = all.iter().filter_map(|(path, entry)| match entry {
            CaptureEntry::File(bytes) if !path.contains("crosstie") => Some(bytes.clone()),
            _ => None,
        });
        let read: Vec<String> = read
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .collect();
        assert_eq!(read, names);
        assert!(paths(&kept).iter().all(|path| !path.contains("me.conf")));
        assert_eq!(rename_user_files(&kept), kept);
    }

    /// Of every rule that reads files which people name: one that is added must be thought of here.
    #[test]
    fn every_folder_in_which_people_name_files_is_listed() {
        // Numbers of interfaces, and what the kernel or a package names.
        const OTHERS: [&str; 4] = ["run/", "sys/", "proc/", "lib/modules/"];
        for rule in GROUPS.into_iter().flatten() {
            let is_text = matches!(rule.keep, FileFilter::Filtered(_) | FileFilter::Private(_));
            let names_files = rule
                .path
                .rsplit('/')
                .next()
                .is_some_and(|last| last.contains('*'));
            if is_text && names_files && !OTHERS.iter().any(|other| rule.path.starts_with(other)) {
                let path = rule
                    .path
                    .replace("{etc,run,usr/lib}", "etc")
                    .replace("{system,user}", "user");
                assert!(split(&path).is_some(), "{path}");
            }
        }
    }
}
