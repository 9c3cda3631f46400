//! What queue pairs get that ask for nothing else.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crosstie_facts::traffic_class;
use crosstie_model::Reading;
use rustix::mount::{MountFlags, mount};

use super::{PortSettingsError, Ports, checked_device};

const CONFIGFS: &str = "sys/kernel/config";
/// `CONFIGFS_MAGIC`
const CONFIGFS_MAGIC: u64 = 0x6265_6570;
const MODES: [&str; 2] = ["IB/RoCE v1", "RoCE v2"];

impl Ports {
    /// OFED's class, which overrides every queue pair's own. RDMA-CM's `default_roce_tos` is left alone where there are
    /// both: it is another value, a plan does not know what it was, and OFED's wins over it.
    pub(super) fn set_traffic_class(
        &self,
        device: &str,
        port: u32,
        class: u8,
    ) -> Result<(), PortSettingsError> {
        checked_device(device)?;
        let file = format!("sys/class/infiniband/{device}/tc/{port}/traffic_class");
        self.update(&file, &class.to_string(), |found| {
            traffic_class(found) == Reading::Value(class)
        })
    }

    pub(super) fn set_roce_mode(
        &self,
        device: &str,
        port: u32,
        mode: &str,
    ) -> Result<(), PortSettingsError> {
        checked_device(device)?;
        if !MODES.contains(&mode) {
            return Err(PortSettingsError::Value {
                what: "RDMA-CM's RoCE mode",
                of: device.to_owned(),
                value: mode.to_owned(),
            });
        }
        self.mount_configfs()?;
        let manager = format!("{CONFIGFS}/rdma_cm");
        if !self.root.join(&manager).exists() {
            return Err(PortSettingsError::NoConnectionManager {
                path: format!("/{manager}"),
            });
        }
        let folder = format!("{manager}/{device}");
        let _folder =
            Folder::make(self.root.join(&folder)).map_err(|source| PortSettingsError::Folder {
                path: format!("/{folder}"),
                source,
            })?;
        let file = format!("{folder}/ports/{port}/default_roce_mode");
        self.update(&file, mode, |found| found == mode)
    }

    /// systemd mounts it where it runs; it stays.
    fn mount_configfs(&self) -> Result<(), PortSettingsError> {
        let folder = self.root.join(CONFIGFS);
        let is_machine = self.root == Path::new("/");
        if !is_machine || !folder.exists() || is_configfs(&folder) {
            return Ok(());
        }
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("configfs", &folder, "configfs", flags, None).map_err(|errno| {
            PortSettingsError::Mount {
                path: folder.display().to_string(),
                source: errno.into(),
            }
        })
    }
}

fn is_configfs(folder: &Path) -> bool {
    let magic = rustix::fs::statfs(folder).map(|status| u64::try_from(status.f_type));
    magic == Ok(Ok(CONFIGFS_MAGIC))
}

/// A device's settings are shown while it has a folder, and stay when the folder goes.
struct Folder {
    path: PathBuf,
    ours: bool,
}

impl Folder {
    fn make(path: PathBuf) -> io::Result<Self> {
        let ours = match fs::create_dir(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        Ok(Self { path, ours })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.ours {
            // One that stays does no harm.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
