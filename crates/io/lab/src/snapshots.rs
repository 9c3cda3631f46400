//! Booted nodes, kept: disk with memory snapshot, keys and seed of every node of a profile.
//!
//! A set belongs to one profile, its images and their QEMUs; a lab works on its own copy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crosstie_durable::{RealDisk, publish_folder};

use crate::access::{KEY, KEY_PUBLIC};
use crate::arch::Arch;
use crate::digest;
use crate::error::LabError;
use crate::image::DiskImage;
use crate::lock::LabLock;
use crate::paths::LabPaths;
use crate::profile::LabProfile;
use crate::qemu::{self, NodeFilePaths, QemuAccelerator};
use crate::{seed, tools};

/// The snapshot's name inside a node's disk.
pub(crate) const READY: &str = "ready";
pub(crate) const PASSWORD: &str = "password";
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the set for these parts is, or would be.
pub(crate) fn place(
    paths: &LabPaths,
    profile: &LabProfile,
    images: &BTreeMap<Arch, DiskImage>,
    accel: QemuAccelerator,
) -> Result<PathBuf, LabError> {
    let mut parts = String::new();
    for (arch, image) in images {
        let mut command = Command::new(arch.emulator());
        command.arg("--version");
        parts.push_str(&tools::output(&mut command, VERSION_TIMEOUT)?);
        parts.push_str(&image.hash);
    }
    for node in &profile.nodes {
        if let Some(image) = images.get(&node.arch) {
            parts.push_str(&qemu::shape(profile, node, image, accel));
        }
    }
    let text = serde_json::to_string(profile).unwrap_or_default();
    let key = digest::short_of(&[&parts, &accel.key(), &text, &seed::shape(profile)]);
    Ok(paths.snapshots().join(format!("{}-{key}", profile.name)))
}

fn names(profile: &LabProfile) -> Vec<String> {
    let mut names = vec![KEY.to_owned(), KEY_PUBLIC.to_owned(), PASSWORD.to_owned()];
    for node in &profile.nodes {
        let files = NodeFilePaths(&node.name);
        names.extend([files.disk(), files.seed(), files.host_key()]);
    }
    names
}

/// Copies the set into a lab's directory.
pub(crate) fn take(set: &Path, profile: &LabProfile, lab: &Path) -> Result<(), LabError> {
    copy(set, lab, profile)
}

/// Keeps a lab's stopped nodes as a set; someone else's equal one is left as it is.
pub(crate) fn keep(set: &Path, profile: &LabProfile, lab: &Path) -> Result<(), LabError> {
    let mut lock_name = set.as_os_str().to_owned();
    lock_name.push(".lock");
    let lock = LabLock::take(Path::new(&lock_name), Duration::from_secs(300))?;
    let mut partial_name = set.as_os_str().to_owned();
    partial_name.push(".partial");
    let partial = PathBuf::from(partial_name);
    let outcome = if set.exists() {
        Ok(())
    } else {
        let _ = std::fs::remove_dir_all(&partial);
        make_private(&partial)
            .and_then(|()| copy(lab, &partial, profile))
            .and_then(|()| {
                publish_folder(&RealDisk, &partial, set)
                    .map_err(LabError::disk("put in place", set))
            })
    };
    if outcome.is_err() {
        let _ = std::fs::remove_dir_all(&partial);
    }
    lock.remove();
    outcome
}

pub(crate) fn make_private(directory: &Path) -> Result<(), LabError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(LabError::disk("make", directory))
}

fn copy(from: &Path, to: &Path, profile: &LabProfile) -> Result<(), LabError> {
    for name in names(profile) {
        let target = to.join(&name);
        std::fs::copy(from.join(&name), &target).map_err(LabError::disk("copy to", &target))?;
    }
    Ok(())
}
