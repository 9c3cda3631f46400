//! Kernel settings by their sysctl names.

use std::collections::BTreeMap;

use crate::{RawCapture, raw::CaptureEntry};

/// `net.ipv4.conf.eth0/1.arp_ignore`: as sysctl does, a dot inside a name is written as a slash.
pub(super) fn sysctls(raw: &RawCapture) -> BTreeMap<String, String> {
    const ROOT: &str = "proc/sys/";
    const NOT_SETTINGS: [&str; 4] = [
        "kernel/arch",
        "kernel/hostname",
        "kernel/osrelease",
        "kernel/random/boot_id",
    ];
    raw.tree()
        .filter_map(|(path, entry)| {
            let name = path.strip_prefix(ROOT)?;
            let CaptureEntry::File(bytes) = entry else {
                return None;
            };
            if NOT_SETTINGS.contains(&name) {
                return None;
            }
            let swap = |c| match c {
                '/' => '.',
                '.' => '/',
                other => other,
            };
            let value = std::str::from_utf8(bytes)
                .ok()?
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            Some((name.chars().map(swap).collect(), value))
        })
        .collect()
}
