//! Reading a capture: links are followed inside the map, with a bound, as the kernel does.

use std::{ops::Bound, str::FromStr};

use crosstie_model::Reading;

use super::{CaptureEntry, RawCapture, ReadGap};
use crate::source::FileTree;

/// The kernel's own limit on links followed in one look-up (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

impl RawCapture {
    /// Where a path leads once every link on the way is followed; `None` for a loop or a dead end through a file.
    pub fn real_path(&self, path: &str) -> Option<String> {
        self.walk(path, true)
    }

    /// Follows the links in the directories of `path`, and in its last part if asked to. `..` at the top stays at the
    /// top, as it does at `/` on a real machine.
    fn walk<'a>(&'a self, path: &'a str, follow_last: bool) -> Option<String> {
        let mut done = String::with_capacity(2 * path.len());
        // What is left to walk: the rest of the path below the rest of each link's target.
        let mut rest = vec![path.split('/')];
        let mut links = 0;
        while let Some(parts) = rest.last_mut() {
            let Some(part) = parts.next() else {
                rest.pop();
                continue;
            };
            let directory_end = done.len();
            match part {
                "" | "." => continue,
                ".." => {
                    done.truncate(done.rfind('/').unwrap_or(0));
                    continue;
                }
                name => {
                    if !done.is_empty() {
                        done.push('/');
                    }
                    done.push_str(name);
                }
            }
            if let Some(CaptureEntry::Link(target)) = self.tree.get(&done) {
                let is_last = || rest.iter().all(|parts| parts.clone().all(str::is_empty));
                if !follow_last && is_last() {
                    break;
                }
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                done.truncate(if target.starts_with('/') {
                    0
                } else {
                    directory_end
                });
                rest.push(target.split('/'));
            }
        }
        Some(done)
    }

    fn get(&self, path: &str) -> Option<&CaptureEntry> {
        self.tree.get(&self.real_path(path)?)
    }

    pub fn bytes(&self, path: &str) -> Reading<&[u8]> {
        entry_bytes(self.get(path))
    }

    /// The text of a file, less surrounding white space.
    pub fn text(&self, path: &str) -> Reading<&str> {
        self.bytes(path).and_then(utf8).map(str::trim)
    }

    /// A file that holds one value.
    pub fn value<T: FromStr>(&self, path: &str) -> Reading<T> {
        self.text(path).and_then(|text| match text.parse() {
            Ok(value) => Reading::Value(value),
            Err(_) => Reading::malformed(text),
        })
    }

    /// Text worth keeping: an empty file says as much as none.
    pub fn word(&self, path: &str) -> Reading<String> {
        self.text(path).and_then(|text| {
            if text.is_empty() {
                Reading::Absent
            } else {
                Reading::Value(text.to_owned())
            }
        })
    }

    /// Names in a directory, sorted, links followed.
    pub fn names(&self, path: &str) -> Vec<&str> {
        let Some(directory) = self.real_path(path) else {
            return Vec::new();
        };
        let prefix = if directory.is_empty() {
            directory
        } else {
            directory + "/"
        };
        let mut names: Vec<&str> = Vec::new();
        let mut from = prefix.clone();
        loop {
            // What is below a name is passed over: a directory may hold a hundred names and as many thousand files.
            let mut below = self
                .tree
                .range::<str, _>((Bound::Included(&*from), Bound::Unbounded));
            let name = loop {
                let Some(rest) = below
                    .next()
                    .and_then(|(path, _)| path.strip_prefix(&prefix))
                else {
                    names.sort_unstable();
                    names.dedup();
                    return names;
                };
                match rest.split_once('/') {
                    None => names.push(rest),
                    Some((name, _)) => break name,
                }
            };
            names.push(name);
            from.truncate(prefix.len());
            from.push_str(name);
            // Zero comes right after the slash.
            from.push('0');
        }
    }

    /// Whether anything is there: a file, a directory, a link, or something that could not be read.
    pub fn exists(&self, path: &str) -> bool {
        match self.get(path) {
            Some(CaptureEntry::Gap(ReadGap::Absent)) => false,
            Some(_) => true,
            None => self
                .real_path(path)
                .is_some_and(|path| path.is_empty() || self.holds(&path)),
        }
    }

    /// The last part of a link's target: how sysfs names a driver, a group, a device.
    pub fn link_name(&self, path: &str) -> Reading<&str> {
        let name = self.walk(path, false).and_then(|path| self.tree.get(&path));
        match name {
            Some(CaptureEntry::Link(target)) => target
                .rsplit('/')
                .find(|part| !part.is_empty())
                .map_or_else(|| Reading::malformed(target), Reading::Value),
            Some(CaptureEntry::Gap(ReadGap::Denied)) => Reading::Denied,
            _ => Reading::Absent,
        }
    }

    /// What a command printed, as text.
    pub fn command(&self, name: &str) -> Reading<&str> {
        entry_bytes(self.commands.get(name)).and_then(utf8)
    }
}

fn entry_bytes(entry: Option<&CaptureEntry>) -> Reading<&[u8]> {
    match entry {
        Some(CaptureEntry::File(bytes)) => Reading::Value(bytes),
        Some(CaptureEntry::Gap(ReadGap::Denied)) => Reading::Denied,
        Some(CaptureEntry::Gap(gap @ (ReadGap::TooLarge | ReadGap::Failed(_)))) => {
            Reading::malformed(&gap.to_string())
        }
        Some(CaptureEntry::Directory) => Reading::malformed("a directory"),
        Some(CaptureEntry::Link(_) | CaptureEntry::Gap(ReadGap::Absent)) | None => Reading::Absent,
    }
}

fn utf8(bytes: &[u8]) -> Reading<&str> {
    std::str::from_utf8(bytes).map_or_else(
        |_| Reading::malformed(&String::from_utf8_lossy(&bytes[..bytes.len().min(200)])),
        Reading::Value,
    )
}

/// A capture can be collected from again, which is how one made by hand is cut down to the allow-list.
impl FileTree for RawCapture {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadGap> {
        match self.get(path) {
            Some(CaptureEntry::File(bytes)) => Ok(bytes.clone()),
            Some(CaptureEntry::Gap(gap)) => Err(gap.clone()),
            _ => Err(ReadGap::Absent),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadGap> {
        let names = self.names(path);
        if names.is_empty() && !matches!(self.get(path), Some(CaptureEntry::Directory)) {
            return Err(ReadGap::Absent);
        }
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    fn read_link(&self, path: &str) -> Result<String, ReadGap> {
        match self.walk(path, false).and_then(|path| self.tree.get(&path)) {
            Some(CaptureEntry::Link(target)) => Ok(target.clone()),
            Some(CaptureEntry::Gap(gap)) => Err(gap.clone()),
            _ => Err(ReadGap::Absent),
        }
    }

    fn access(&self, path: &str) -> Result<(), ReadGap> {
        match self.get(path) {
            Some(CaptureEntry::Gap(gap)) => Err(gap.clone()),
            None if !self.exists(path) => Err(ReadGap::Absent),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(entries: &[(&str, CaptureEntry)]) -> RawCapture {
        let mut raw = RawCapture::default();
        for (path, entry) in entries {
            raw.insert(path, entry.clone());
        }
        raw
    }

    fn file(text: &str) -> CaptureEntry {
        CaptureEntry::File(text.as_bytes().to_vec())
    }

    fn link(target: &str) -> CaptureEntry {
        CaptureEntry::Link(target.to_owned())
    }

    #[test]
    fn links_are_followed_as_sysfs_lays_them() {
        let raw = raw(&[
            ("sys/class/net/eth0", link("../../devices/pci0/net/eth0")),
            ("sys/devices/pci0/net/eth0/mtu", file("9000\n")),
            ("sys/devices/pci0/net/eth0/device", link("../..")),
            (
                "sys/devices/pci0/driver",
                link("../../bus/drivers/mlx5_core"),
            ),
        ]);
        assert_eq!(raw.value("sys/class/net/eth0/mtu"), Reading::Value(9000));
        assert_eq!(
            raw.link_name("sys/class/net/eth0/device/driver"),
            Reading::Value("mlx5_core")
        );
        assert_eq!(
            raw.real_path("sys/class/net/eth0/device").as_deref(),
            Some("sys/devices/pci0")
        );
        assert_eq!(raw.names("sys/class/net"), ["eth0"]);
        assert_eq!(raw.names("sys/class/net/eth0"), ["device", "mtu"]);
    }

    #[test]
    fn loops_and_escapes_end_in_absence() {
        let raw = raw(&[
            ("a", link("b")),
            ("b", link("a")),
            ("out", link("../../../../etc/shadow")),
            ("self", link("self/x")),
        ]);
        for path in ["a", "a/x", "out", "self", "self/y"] {
            assert_eq!(raw.text(path), Reading::Absent, "{path}");
        }
    }

    #[test]
    fn gaps_keep_their_reason() {
        let raw = raw(&[
            ("x", CaptureEntry::Gap(ReadGap::Denied)),
            ("y", CaptureEntry::File(vec![0xff, 0xfe])),
        ]);
        assert_eq!(raw.text("x"), Reading::Denied);
        assert!(matches!(raw.text("y"), Reading::Malformed(_)));
        assert_eq!(raw.value::<u32>("z"), Reading::Absent);
    }
}
