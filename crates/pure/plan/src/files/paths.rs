//! Where this tool writes, besides files for network managers.

pub const SYSCTL: &str = "/etc/sysctl.d/90-crosstie.conf";
pub const LIMITS: &str = "/etc/security/limits.d/90-crosstie.conf";
pub const SYSTEM_LIMITS: &str = "/etc/systemd/system.conf.d/90-crosstie.conf";
pub const USER_LIMITS: &str = "/etc/systemd/user.conf.d/90-crosstie.conf";
pub const MODULES: &str = "/etc/modules-load.d/crosstie.conf";
pub const HOSTS: &str = "/etc/hosts";
pub const NCCL: &str = "/etc/nccl.conf";
/// What the boot unit puts back.
pub const BOOT: &str = "/etc/crosstie/fabric.toml";
pub const BOOT_UNIT: &str = "/etc/systemd/system/crosstie-fabric.service";
pub const BOOT_UNIT_NAME: &str = "crosstie-fabric.service";
/// The binary that the boot unit starts: root's own, put there by `crosstie apply`, apart from the agents, which are swept away.
pub const BINARY: &str = "/var/lib/crosstie/boot/crosstie";
