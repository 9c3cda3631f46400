use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crosstie_model::plan::RoceMode;
use rustix::mount::{MountFlags, mount};

use super::{ApplyStep, NodeRuntime, bad_value, runtime::check_device};
use crate::error::StepError;

const CONFIGFS: &str = "sys/kernel/config";
/// `CONFIGFS_MAGIC`
const CONFIGFS_MAGIC: u64 = 0x6265_6570;
const MODES: [&str; 2] = ["IB/RoCE v1", "RoCE v2"];

impl ApplyStep for RoceMode {
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        let (device, port, mode) = (&self.device, self.port, self.mode.to.as_str());
        check_device(device)?;
        if !MODES.contains(&mode) {
            return Err(bad_value("RDMA-CM's RoCE mode", device, mode));
        }
        mount_configfs(node)?;
        let manager = format!("{CONFIGFS}/rdma_cm");
        if !node.root.join(&manager).exists() {
            return Err(StepError::NoConnectionManager {
                path: format!("/{manager}"),
            });
        }
        let folder = format!("{manager}/{device}");
        let _folder =
            DeviceFolder::make(node.root.join(&folder)).map_err(|source| StepError::Folder {
                path: format!("/{folder}"),
                source,
            })?;
        let file = format!("{folder}/ports/{port}/default_roce_mode");
        node.update(&file, mode, |found| found == mode)
    }
}

/// systemd mounts it where it runs; it stays.
fn mount_configfs(node: &NodeRuntime) -> Result<(), StepError> {
    let folder = node.root.join(CONFIGFS);
    let is_machine = node.root == Path::new("/");
    if !is_machine || !folder.exists() || is_configfs(&folder) {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("configfs", &folder, "configfs", flags, None).map_err(|errno| StepError::Mount {
        path: folder.display().to_string(),
        source: errno.into(),
    })
}

fn is_configfs(folder: &Path) -> bool {
    let magic = rustix::fs::statfs(folder).map(|status| u64::try_from(status.f_type));
    magic == Ok(Ok(CONFIGFS_MAGIC))
}

/// A device's settings are shown while it has a folder, and stay when the folder goes.
struct DeviceFolder {
    path: PathBuf,
    ours: bool,
}

impl DeviceFolder {
    fn make(path: PathBuf) -> io::Result<Self> {
        let ours = match fs::create_dir(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        Ok(Self { path, ours })
    }
}

impl Drop for DeviceFolder {
    fn drop(&mut self) {
        if self.ours {
            // One that stays does no harm.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
