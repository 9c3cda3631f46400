//! What a node writes: an upper layer over the image's tree, kept until the lab ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::LabError;
use crate::qemu::Files;
use crate::tools;

const COPY_WITHIN: Duration = Duration::from_secs(60);
const UPPER: &str = "upper";

/// Work for machines, and work that would reach the host: none of it is a container's.
const MASKED: [&str; 15] = [
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "lab-rxe-carrier.service",
    "lab-rxe@.service",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-hwdb-update.service",
    "systemd-modules-load.service",
    "systemd-random-seed.service",
    "systemd-remount-fs.service",
    "systemd-timesyncd.service",
    "systemd-udev-settle.service",
    "serial-getty@.service",
];

/// The stock unit announces every device of the host anew.
const ANNOUNCE_CARDS: &str = "[Service]\nExecStart=\n\
    ExecStart=udevadm trigger --type=subsystems --action=add --subsystem-match=net\n\
    ExecStart=udevadm trigger --type=devices --action=add --subsystem-match=net\n";

/// `NetworkManager` leaves veth alone, which stand for cards here.
const CARDS_ARE_MANAGED: &str = "ACTION!=\"remove\", SUBSYSTEM==\"net\", ENV{ID_NET_DRIVER}==\"veth\", \
    ENV{NM_UNMANAGED}=\"0\"\n";

#[derive(Debug)]
pub(crate) struct Disk {
    place: PathBuf,
    seed: PathBuf,
    /// Where the whole file system appears, inside the node's own mount namespace.
    root: PathBuf,
    saved: PathBuf,
}

impl Disk {
    pub(crate) fn of(directory: &Path, node: &str) -> Self {
        Self {
            place: directory.join(format!("{node}.disk")),
            seed: directory.join(Files(node).seed()),
            root: directory.join(format!("{node}.root")),
            saved: directory.join(format!("{node}.saved")),
        }
    }

    /// Mounted or made by whoever calls, and seen in the calling process's mount namespace.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// As the node is before its first start, unless it has been started before.
    pub(crate) fn prepare(&self) -> Result<(), LabError> {
        for directory in [&self.root, &self.place] {
            fs::create_dir_all(directory).map_err(LabError::disk("make", directory))?;
        }
        let upper = self.place.join(UPPER);
        if upper.is_dir() {
            return Ok(());
        }
        // Whole or not there.
        let partial = self.place.join("upper.partial");
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir(&partial).map_err(LabError::disk("make", &partial))?;
        let mut command = Command::new("tar");
        command
            .args(["--extract", "--numeric-owner", "--preserve-permissions"])
            .arg("--directory")
            .arg(&partial)
            .arg("--file")
            .arg(&self.seed);
        tools::output(&mut command, COPY_WITHIN)?;
        adapt(&partial).map_err(LabError::disk("write into", &partial))?;
        let work = self.place.join("work");
        fs::create_dir_all(&work).map_err(LabError::disk("make", &work))?;
        fs::rename(&partial, &upper).map_err(LabError::disk("put in place", &upper))
    }

    /// Back to before the first start. The node is off.
    pub(crate) fn clear(&self) -> Result<(), LabError> {
        match fs::remove_dir_all(&self.place) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::disk("remove", &self.place)(error))
            }
            _ => Ok(()),
        }
    }

    /// Keeps what is written now. The node is stopped.
    pub(crate) fn save(&self, snapshot: &str) -> Result<(), LabError> {
        let to = self.saved.join(snapshot);
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&self.saved).map_err(LabError::disk("make", &self.saved))?;
        copy(&self.place.join(UPPER), &to)
    }

    /// What was kept takes the place of what is written now. The node is off.
    pub(crate) fn load(&self, snapshot: &str) -> Result<(), LabError> {
        self.clear()?;
        for directory in [self.place.clone(), self.place.join("work")] {
            fs::create_dir_all(&directory).map_err(LabError::disk("make", &directory))?;
        }
        copy(&self.saved.join(snapshot), &self.place.join(UPPER))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), LabError> {
    let mut command = Command::new("cp");
    command.args(["--archive", "--no-target-directory"]);
    command.arg(from).arg(to);
    tools::output(&mut command, COPY_WITHIN)?;
    Ok(())
}

fn adapt(upper: &Path) -> std::io::Result<()> {
    let etc = upper.join("etc");
    fs::write(etc.join("fstab"), "")?;
    let units = etc.join("systemd/system");
    fs::create_dir_all(&units)?;
    for unit in MASKED {
        let link = units.join(unit);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink("/dev/null", link)?;
    }
    let trigger = units.join("systemd-udev-trigger.service.d");
    fs::create_dir_all(&trigger)?;
    fs::write(trigger.join("lab.conf"), ANNOUNCE_CARDS)?;
    let rules = etc.join("udev/rules.d");
    fs::create_dir_all(&rules)?;
    fs::write(rules.join("90-lab.rules"), CARDS_ARE_MANAGED)
}
