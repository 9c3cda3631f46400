//! What a node's files need beside its seed, so that the image runs on the host's kernel.

use super::archive::SeedArchive;

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

/// Unpacked after the node's own seed.
pub(crate) fn adaptation() -> std::io::Result<Vec<u8>> {
    let mut archive = SeedArchive::new();
    archive.file("etc/fstab", 0o644, "")?;
    for unit in MASKED {
        archive.symlink(&format!("etc/systemd/system/{unit}"), "/dev/null")?;
    }
    archive.file(
        "etc/systemd/system/systemd-udev-trigger.service.d/lab.conf",
        0o644,
        ANNOUNCE_CARDS,
    )?;
    archive.file("etc/udev/rules.d/90-lab.rules", 0o644, CARDS_ARE_MANAGED)?;
    archive.finish()
}
