//! Node images: built once from the host's apt sources by mmdebstrap, kept by the hash of their recipe.

mod build;
mod recipe;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crosstie_durable::{RealDisk, publish_folder};
use thiserror::Error;

use crate::ReportProgress;
use crate::arch::Arch;
use crate::lock::{LabLock, LabLockError};
use crate::paths::LabPaths;
use crate::tools::{self, ToolError};
use recipe::ImageRecipe;

/// Long enough for another command's build on a slow mirror.
const BUILD_LOCK_TIMEOUT: Duration = Duration::from_secs(1800);
const TRY_TIMEOUT: Duration = Duration::from_secs(20);
const ROOT: &str = "root.qcow2";
const KERNEL: &str = "kernel";
const INITRD: &str = "initrd";
/// The whole file system but for the kernel's modules, for containers; unpacked when the first of them starts.
const TREE_ARCHIVE: &str = "tree.tar";
const TREE: &str = "tree";
const UNPACK_TIMEOUT: Duration = Duration::from_secs(300);

/// A finished image: what QEMU boots.
#[derive(Debug, Clone)]
pub(crate) struct DiskImage {
    pub(crate) hash: String,
    directory: PathBuf,
}

impl DiskImage {
    /// An image that a lab already runs on; its directory is named after its hash.
    pub(crate) fn at(directory: &Path) -> Self {
        let hash = directory.file_name().unwrap_or_default();
        Self {
            hash: hash.to_string_lossy().into_owned(),
            directory: directory.to_owned(),
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.join(ROOT)
    }

    pub(crate) fn kernel(&self) -> PathBuf {
        self.directory.join(KERNEL)
    }

    pub(crate) fn initrd(&self) -> PathBuf {
        self.directory.join(INITRD)
    }

    /// The image's file system as a directory, unpacked the first time. Root's, since it keeps owners and modes.
    pub(crate) fn tree(&self) -> Result<PathBuf, ImageError> {
        let tree = self.directory.join(TREE);
        if tree.is_dir() {
            return Ok(tree);
        }
        let lock = LabLock::take(&self.directory.join("tree.lock"), UNPACK_TIMEOUT)?;
        if !tree.is_dir() {
            let partial = self.directory.join("tree.partial");
            let _ = std::fs::remove_dir_all(&partial);
            std::fs::create_dir(&partial).map_err(build::disk("make", &partial))?;
            let mut command = Command::new("tar");
            command
                .args(["--extract", "--numeric-owner", "--preserve-permissions"])
                .args(["--xattrs", "--xattrs-include=*", "--directory"])
                .arg(&partial)
                .arg("--file")
                .arg(self.directory.join(TREE_ARCHIVE));
            tools::output(&mut command, UNPACK_TIMEOUT)?;
            publish_folder(&RealDisk, &partial, &tree)
                .map_err(build::disk("put in place", &tree))?;
        }
        lock.remove();
        Ok(tree)
    }
}

#[derive(Debug, Error)]
pub enum ImageError {
    #[error("cannot {action} {path}")]
    Disk {
        action: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "{path} has {free_mib} MiB free; building a node image wants {wanted_mib} MiB there. Free some, or set {variable} to another disk"
    )]
    NoSpace {
        path: String,
        free_mib: u64,
        wanted_mib: u64,
        variable: &'static str,
    },
    #[error(
        "this user cannot make user namespaces with mapped users ({reason}); add a line to /etc/subuid and /etc/subgid, or run as root"
    )]
    NoNamespace { reason: &'static str },
    #[error(
        "this machine does not run programs for {arch}, which building an image for it takes: apt-get install \
         qemu-user-static binfmt-support, then update-binfmts --enable, both as root (in a container: on its host)"
    )]
    NotExecutable { arch: Arch },
    #[error("building the node image failed; the whole output is in {log}")]
    Build {
        log: String,
        #[source]
        source: ToolError,
    },
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Lock(#[from] LabLockError),
}

/// The image of today's recipe, from the cache or built now. `lab` is the directory of the lab that it is for: a build
/// is ended with that lab.
pub(crate) fn ensure(
    paths: &LabPaths,
    arch: Arch,
    lab: &Path,
    say: ReportProgress<'_>,
) -> Result<DiskImage, ImageError> {
    let recipe = ImageRecipe::of_host(arch);
    let hash = recipe.hash();
    let image = DiskImage {
        directory: paths.images().join(&hash),
        hash,
    };
    if image.directory.is_dir() {
        return Ok(image);
    }
    tools::require(&["mmdebstrap", "mke2fs", "qemu-img", "xz"])?;
    check_executable(arch)?;
    let lock_path = paths.images().join(format!("{}.lock", image.hash));
    let lock = LabLock::take(&lock_path, BUILD_LOCK_TIMEOUT)?;
    if !image.directory.is_dir() {
        build::build(&recipe, &image, lab, say)?;
    }
    lock.remove();
    Ok(image)
}

/// The packages' own scripts run while an image is built.
fn check_executable(arch: Arch) -> Result<(), ImageError> {
    if arch == Arch::HOST {
        return Ok(());
    }
    tools::require(&["arch-test", arch.user_emulator()])?;
    let mut command = Command::new("arch-test");
    command.arg(arch.debian());
    let tried = tools::output(&mut command, TRY_TIMEOUT);
    tried
        .map(drop)
        .map_err(|_| ImageError::NotExecutable { arch })
}

/// Removes what killed builds of this user left, in the temporary directory and in the cache.
pub(crate) fn clean_up_builds(paths: &LabPaths) {
    build::remove_stale();
    let Ok(entries) = std::fs::read_dir(paths.images()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(hash) = name.strip_suffix(".lock") else {
            continue;
        };
        // A lock that is free has no builder.
        if let Ok(lock) = LabLock::take(&entry.path(), Duration::ZERO) {
            let _ = std::fs::remove_dir_all(build::partial(&paths.images(), hash));
            lock.remove();
        }
    }
}
