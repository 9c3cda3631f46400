//! Where this tool writes, besides files for network managers.

use crosstie_model::distribution::Folders;

pub const HOSTS: &str = "/etc/hosts";
pub const NCCL: &str = "/etc/nccl.conf";
/// What the boot unit sets again.
pub const BOOT: &str = "/etc/crosstie/fabric.toml";
pub const BOOT_UNIT: &str = "/etc/systemd/system/crosstie-fabric.service";
pub const BOOT_UNIT_NAME: &str = "crosstie-fabric.service";
/// The binary that the boot unit starts: root's own, put there by `crosstie apply`, apart from the agents, which are swept away.
pub const BINARY: &str = "/var/lib/crosstie/boot/crosstie";

pub fn sysctl(folders: &Folders) -> String {
    in_folder(folders.sysctl)
}

pub fn limits(folders: &Folders) -> String {
    in_folder(folders.limits)
}

/// Settings of systemd and of its user instances.
pub(crate) fn managers(folders: &Folders) -> [String; 2] {
    [folders.system_manager, folders.user_manager].map(in_folder)
}

pub(crate) fn modules(folders: &Folders) -> String {
    format!("{}/crosstie.conf", folders.modules)
}

/// Behind what packages write.
fn in_folder(folder: &str) -> String {
    format!("{folder}/90-crosstie.conf")
}
