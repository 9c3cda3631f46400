//! What the host must have before anything is started.

use std::net::TcpListener;
use std::path::Path;

use crate::error::LabError;
use crate::paths;
use crate::profile::Profile;

/// QEMU's own needs beside the guest's memory, its copy of the unpacked kernel among them.
const OVERHEAD_MIB: u64 = 180;
/// Disk writes and one memory snapshot of a node.
const NODE_DISK_MIB: u64 = 600;

pub(super) fn check_memory(profile: &Profile) -> Result<(), LabError> {
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
    profile: &Profile,
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

/// One port a node: free ones, or the given one and those after it.
pub(super) fn ports(first: Option<u16>, count: usize) -> Result<Vec<u16>, LabError> {
    // Held until all are chosen, so that none is chosen twice.
    let mut held = Vec::new();
    for index in 0..count {
        let wanted = match first {
            Some(first) => u16::try_from(index)
                .ok()
                .and_then(|index| first.checked_add(index))
                .ok_or(LabError::PortTaken { port: first })?,
            None => 0,
        };
        let listener = TcpListener::bind(("127.0.0.1", wanted)).map_err(|source| {
            if wanted == 0 {
                LabError::NoPortFree(source)
            } else {
                LabError::PortTaken { port: wanted }
            }
        })?;
        held.push(listener);
    }
    held.iter()
        .map(|listener| listener.local_addr().map(|address| address.port()))
        .collect::<Result<_, _>>()
        .map_err(LabError::NoPortFree)
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
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = super::ports(Some(port), 1).unwrap_err();
        assert!(matches!(error, LabError::PortTaken { port: taken } if taken == port));
    }

    #[test]
    fn a_profile_beyond_the_machine_is_refused_with_numbers() {
        let mut profile = Profile::find("two-sparks").unwrap();
        profile.nodes[0].memory_mib = 1 << 30;
        let text = check_memory(&profile).unwrap_err().to_string();
        assert!(text.contains("two-sparks wants 107374"), "{text}");
    }
}
