//! What a lab's directory says about it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crosstie_durable::{AtomicWrite, RealDisk, read_json};
use serde::{Deserialize, Serialize};

use crate::arch::Arch;
use crate::image::DiskImage;
use crate::lab::LabKind;
use crate::process::ProcessId;
use crate::profile::LabProfile;
use crate::qemu::QemuAccelerator;

const FORMAT: u32 = 2;
const RECORD: &str = "lab.json";
/// Profiles of hundreds of nodes have some hundreds of kilobytes.
const LARGEST: u64 = 16 << 20;

/// `lab.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabRecord {
    pub(crate) format: u32,
    pub(crate) name: String,
    pub(crate) phase: LabPhase,
    #[serde(default)]
    pub(crate) kind: LabKind,
    pub(crate) profile: LabProfile,
    /// Of the nodes that have this machine's architecture.
    pub(crate) accel: QemuAccelerator,
    /// The directory of each architecture's image.
    pub(crate) images: BTreeMap<Arch, PathBuf>,
    /// In the order of the profile's nodes.
    pub(crate) ssh_ports: Vec<u16>,
    pub(crate) password: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LabPhase {
    /// `up` is at work, or was killed.
    Starting,
    Ready,
}

impl LabRecord {
    pub(crate) const fn format() -> u32 {
        FORMAT
    }

    pub(crate) fn read(directory: &Path) -> std::io::Result<Self> {
        let record: Self = read_json(&directory.join(RECORD), LARGEST)?;
        if record.format == FORMAT {
            Ok(record)
        } else {
            Err(std::io::Error::other("it is of another version"))
        }
    }

    /// `up` put one there for every node; without it QEMU names the file that it misses.
    pub(crate) fn image(&self, arch: Arch) -> DiskImage {
        DiskImage::at(&self.images.get(&arch).cloned().unwrap_or_default())
    }

    pub(crate) fn write(&self, directory: &Path) -> std::io::Result<()> {
        write_atomic(&directory.join(RECORD), &serde_json::to_vec_pretty(self)?)
    }
}

/// The process of a role (a node, the hub, the gateway), where it runs.
pub(crate) fn process(directory: &Path, file: &str) -> Option<ProcessId> {
    let text = std::fs::read(directory.join(file)).ok()?;
    let id: ProcessId = serde_json::from_slice(&text).ok()?;
    id.alive().then_some(id)
}

pub(crate) fn write_process(directory: &Path, file: &str, id: ProcessId) -> std::io::Result<()> {
    write_atomic(&directory.join(file), &serde_json::to_vec(&id)?)
}

/// Never seen half written; readable by its owner only, since the lab's password is in one of them. A lab does not outlive a
/// boot, so a power cut may take it. Its processes and whoever changes it write here at once.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    AtomicWrite::new(path, 0o600)
        .via_unique_temporary()
        .without_sync()
        .write(&RealDisk, bytes)
}
