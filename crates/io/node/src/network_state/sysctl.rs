//! Kernel settings of interfaces, below `/proc/sys/net`. They are those of the calling thread's network namespace.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{interfaces::LinkMapping, obstacle::NetworkRestoreObstacle, state::NetworkState};

const ROOT: &str = "/proc/sys/net";
const FOLDERS: [&str; 4] = ["ipv4/conf", "ipv6/conf", "ipv4/neigh", "ipv6/neigh"];
/// What every interface follows, and what new ones start with. Writing to `all` changes the others, so it comes first.
pub(super) const SHARED: [&str; 2] = ["all", "default"];
const WRITABLE: u32 = 0o200;

/// By path without the interface: `ipv4/conf/arp_ignore`.
pub(super) fn read(interface: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for folder in FOLDERS {
        let path = Path::new(ROOT).join(folder).join(interface);
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries {
            let key = entry.file_name().to_string_lossy().into_owned();
            // Secrets are not ours to keep; the MTU of IPv6 follows the link's.
            if matches!(key.as_str(), "stable_secret" | "mtu") || !is_writable(&entry) {
                continue;
            }
            if let Ok(value) = fs::read_to_string(entry.path()) {
                values.insert(format!("{folder}/{key}"), value.trim_end().to_owned());
            }
        }
    }
    values
}

fn is_writable(entry: &fs::DirEntry) -> bool {
    let mode = entry.metadata().map(|data| data.permissions().mode());
    mode.is_ok_and(|mode| mode & WRITABLE != 0)
}

/// Those that are gone are told with their interface, not here.
pub(super) fn restore(
    before: &NetworkState,
    interfaces: &LinkMapping,
    changes: &mut usize,
) -> Vec<NetworkRestoreObstacle> {
    let mut obstacles = Vec::new();
    let links = before.links.as_deref().unwrap_or_default();
    let own = links.iter().filter_map(|link| {
        let now = interfaces.link(link.index).ok()?;
        Some((link.name.as_str(), now.name.as_str()))
    });
    let shared = SHARED.into_iter().map(|name| (name, name));
    for (name, now) in shared.chain(own) {
        for (key, value) in before.sysctls.get(name).into_iter().flatten() {
            let Some(path) = path(now, key) else {
                continue;
            };
            obstacles.extend(write(&path, value, changes).err());
        }
    }
    obstacles
}

/// `None` where the journal names something else than a setting of an interface.
fn path(interface: &str, key: &str) -> Option<PathBuf> {
    let (folder, key) = key.rsplit_once('/')?;
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('/');
    if !FOLDERS.contains(&folder) || !is_plain(key) || !is_plain(interface) {
        return None;
    }
    Some(Path::new(ROOT).join(folder).join(interface).join(key))
}

fn write(path: &Path, value: &str, changes: &mut usize) -> Result<(), NetworkRestoreObstacle> {
    let is_so = match fs::read_to_string(path) {
        Ok(now) => now.trim_end() == value,
        // Another kernel, or a protocol that was unloaded: nobody can have it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(_) => false,
    };
    if is_so {
        return Ok(());
    }
    *changes += 1;
    fs::write(path, value).map_err(|source| NetworkRestoreObstacle::Sysctl {
        path: path.display().to_string(),
        value: value.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_interfaces_are_written() {
        let found = path("eth0.1", "ipv4/conf/arp_ignore");
        let expected = "/proc/sys/net/ipv4/conf/eth0.1/arp_ignore";
        assert_eq!(found.as_deref(), Some(Path::new(expected)));
        for (interface, key) in [
            ("..", "ipv4/conf/arp_ignore"),
            ("eth0", "ipv4/conf/.."),
            ("eth0", "core/somaxconn"),
            ("a/b", "ipv4/conf/arp_ignore"),
            ("eth0", "arp_ignore"),
        ] {
            assert_eq!(path(interface, key), None, "{interface} {key}");
        }
    }
}
