//! What the host must have before anything is started.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::path::Path;

use crate::access;
use crate::error::LabError;
use crate::paths;
use crate::profile::LabProfile;

/// QEMU's own needs beside the guest's memory, its copy of the unpacked kernel among them.
const OVERHEAD_MIB: u64 = 180;
/// Disk writes and one memory snapshot of a node.
const NODE_DISK_MIB: u64 = 600;

pub(super) fn check_memory(profile: &LabProfile) -> Result<(), LabError> {
    let wanted_mib = profile.memory_mib() + OVERHEAD_MIB * profile.nodes.len() as u64;
    match available_mib() {
        Some(available_mib) if available_mib < wanted_mib => Err(LabError::NoMemory {
            profile: profile.name.clone(),
            wanted_mib,
            available_mib,
        }),
        _ => Ok(()),
    }
}

fn available_mib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

pub(super) fn check_disk(
    profile: &LabProfile,
    directory: &Path,
    option: &'static str,
) -> Result<(), LabError> {
    let wanted_mib = NODE_DISK_MIB * profile.nodes.len() as u64;
    match paths::free_bytes(directory).map(|bytes| bytes >> 20) {
        Some(free_mib) if free_mib < wanted_mib => Err(LabError::NoSpace {
            path: directory.display().to_string(),
            free_mib,
            wanted_mib,
            option,
        }),
        _ => Ok(()),
    }
}

/// Whence free ports are chosen: below those that the kernel gives to connections, since one of them may be taken between
/// the choice and the gateway's start.
const CHOICE: RangeInclusive<u16> = 10_000..=32_000;

/// One port a node: free ones, or the given one and those after it.
pub(super) fn ports(first: Option<u16>, count: usize) -> Result<Vec<u16>, LabError> {
    let Some(first) = first else {
        return free_ports(count);
    };
    (0..count)
        .map(|index| {
            let taken = |port| LabError::PortTaken { port };
            let port = u16::try_from(index)
                .ok()
                .and_then(|index| first.checked_add(index))
                .ok_or(taken(first))?;
            bind(port).map_err(|_| taken(port)).map(|_| port)
        })
        .collect()
}

/// From a random one on, so that labs that start at the same time choose different ones.
fn free_ports(count: usize) -> Result<Vec<u16>, LabError> {
    let start = usize::from_str_radix(&access::random_hex(4)?, 16).unwrap_or_default();
    let free: Vec<u16> = CHOICE
        .cycle()
        .skip(start % CHOICE.len())
        .take(CHOICE.len())
        .filter(|port| bind(*port).is_ok())
        .take(count)
        .collect();
    if free.len() == count {
        Ok(free)
    } else {
        Err(LabError::NoPortFree)
    }
}

fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn chosen_ports_differ_and_a_taken_one_is_named() {
        let ports = ports(None, 4).unwrap();
        let mut unique = ports.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), 4);
        assert!(ports.iter().all(|port| CHOICE.contains(port)), "{ports:?}");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = super::ports(Some(port), 1).unwrap_err();
        assert!(matches!(error, LabError::PortTaken { port: taken } if taken == port));
    }

    #[test]
    fn a_profile_beyond_the_machine_is_refused_with_numbers() {
        let mut profile = LabProfile::find("two-sparks").unwrap();
        profile.nodes[0].memory_mib = 1 << 30;
        let text = check_memory(&profile).unwrap_err().to_string();
        assert!(text.contains("two-sparks wants 107374"), "{text}");
    }
}
