//! Where this tool writes.

pub const NETPLAN: &str = "/etc/netplan/90-crosstie.yaml";
pub const CARRIER: &str = "/etc/NetworkManager/conf.d/90-crosstie.conf";
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

/// Sorted before any netplan file (`10-netplan-…`): the first that matches an interface is the one in force.
pub(crate) const NETWORKD: &str = "05-crosstie-";

pub fn keyfile(interface: &str) -> String {
    format!("/etc/NetworkManager/system-connections/crosstie-{interface}.nmconnection")
}

pub fn network(interface: &str) -> String {
    format!("/etc/systemd/network/{NETWORKD}{interface}.network")
}
