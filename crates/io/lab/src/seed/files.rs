//! The texts of a node's own files.

use std::fmt::Write;

use super::archive::SeedArchive;
use crate::address;
use crate::profile::{InfinibandFabric, LabNode, LabProfile, SudoMode};

/// A lab has no name service: every look-up would wait for its timeout.
pub(super) const SSHD: &str = "UseDNS no\n";

/// The default of 90 seconds is too short for devices to be found by an emulated CPU that has a fraction of a real one.
pub(super) const SYSTEMD: &str =
    "[Manager]\nDefaultDeviceTimeoutSec=600\nDefaultTimeoutStartSec=600\n";

/// As DGX OS ships it; the ports themselves are left to `NetworkManager`'s automatic profiles.
pub(super) const NETPLAN_NETWORK_MANAGER: &str =
    "network:\n  version: 2\n  renderer: NetworkManager\n";

/// A real card's RDMA device is there as soon as its netdev is; so is this one, before the network is configured.
pub(super) const RXE_UNIT: &str = "\
[Unit]
Description=Soft-RoCE on %i
BindsTo=sys-subsystem-net-devices-%i.device
After=sys-subsystem-net-devices-%i.device
Before=network-pre.target
Wants=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
EnvironmentFile=/etc/lab/rxe/%i
ExecStart=/bin/sh -c 'test -e /sys/class/infiniband/$RDMA || exec rdma link add $RDMA type rxe netdev %i'

[Install]
WantedBy=multi-user.target
";

/// Linux 6.1's rxe calls a port active once its netdev is up, carrier or not; a change of any flag makes it look again.
pub(super) const CARRIER_UNIT: &str = "\
[Unit]
Description=Soft-RoCE ports follow their carrier
After=network-pre.target

[Service]
ExecStart=/usr/local/lib/lab/rxe-carrier
Restart=always

[Install]
WantedBy=multi-user.target
";

pub(super) const CARRIER_SCRIPT: &str = "\
#!/bin/sh
follow() {
  for file in /etc/lab/rxe/*; do
    netdev=${file##*/}
    read -r line < \"$file\"
    read -r carrier < \"/sys/class/net/$netdev/carrier\" || continue
    read -r state < \"/sys/class/infiniband/${line#RDMA=}/ports/1/state\" || continue
    case \"$carrier $state\" in
      '0 4: ACTIVE') ip link set dev \"$netdev\" dynamic on; ip link set dev \"$netdev\" dynamic off ;;
    esac
  done 2> /dev/null
}
(echo start; exec ip -o monitor link) | while read -r _; do follow; done
";

/// What QEMU's board and CPU would have loaded at boot, for nothing: under emulation each costs up to a second.
pub(super) fn modprobe() -> String {
    UNUSED_MODULES
        .iter()
        .fold(String::new(), |mut text, module| {
            let _ = writeln!(text, "blacklist {module}");
            text
        })
}

const UNUSED_MODULES: [&str; 20] = [
    "aesni_intel",
    "ahci",
    "ccp",
    "crc32_pclmul",
    "crct10dif_pclmul",
    "evdev",
    "ghash_clmulni_intel",
    "iTCO_wdt",
    "joydev",
    "kvm",
    "kvm_amd",
    "kvm_intel",
    "lpc_ich",
    "pcspkr",
    "psmouse",
    "serio_raw",
    "sha1_ssse3",
    "sha256_ssse3",
    "sha512_ssse3",
    "virtio_balloon",
];

pub(super) fn sudoers(sudo: SudoMode) -> &'static str {
    sudo.rule()
}

pub(super) fn hosts(profile: &LabProfile, node: &LabNode) -> String {
    let mut text = format!(
        "127.0.0.1 localhost\n127.0.1.1 {}\n::1 localhost\n",
        node.name
    );
    for (index, other) in profile.nodes.iter().enumerate() {
        if other.name != node.name {
            let _ = writeln!(text, "{} {}", address::management(index), other.name);
        }
    }
    text
}

pub(super) fn link(name: &str, mac: &str) -> String {
    format!("[Match]\nMACAddress={mac}\n\n[Link]\nName={name}\nMACAddressPolicy=none\n")
}

pub(super) fn connection(interface: &str, address: &str) -> String {
    format!(
        "[connection]\nid=management\ntype=ethernet\ninterface-name={interface}\n\n\
         [ipv4]\nmethod=manual\naddress1={address}/24,{gateway}\n\n[ipv6]\nmethod=link-local\n",
        gateway = address::GATEWAY
    )
}

pub(super) fn netplan_networkd(interface: &str, address: &str) -> String {
    format!(
        "network:\n  version: 2\n  renderer: networkd\n  ethernets:\n    {interface}:\n      \
         addresses: [{address}/24]\n      routes:\n        - to: default\n          via: {gateway}\n",
        gateway = address::GATEWAY
    )
}

/// The simulator and the subnet manager as units, and the preload that makes the diagnostics speak to it.
pub(super) fn infiniband(
    archive: &mut SeedArchive,
    fabric: &InfinibandFabric,
) -> std::io::Result<()> {
    archive.file("etc/lab/ibsim.net", 0o644, &fabric.topology)?;
    archive.file("etc/systemd/system/lab-ibsim.service", 0o644, IBSIM_UNIT)?;
    archive.file(
        "etc/systemd/system/lab-opensm.service",
        0o644,
        OPENSM_UNIT.replace("@HOST@", &fabric.host),
    )?;
    archive.file(
        "usr/local/bin/ib",
        0o755,
        IB_SCRIPT.replace("@HOST@", &fabric.host),
    )?;
    for unit in ["lab-ibsim.service", "lab-opensm.service"] {
        archive.symlink(
            &format!("etc/systemd/system/multi-user.target.wants/{unit}"),
            &format!("../{unit}"),
        )?;
    }
    Ok(())
}

// ibsim reads commands and ends with its standard input.
const IBSIM_UNIT: &str = "\
[Unit]
Description=InfiniBand fabric simulator

[Service]
WorkingDirectory=/tmp
ExecStart=/bin/sh -c 'tail -f /dev/null | exec ibsim -s -n /etc/lab/ibsim.net'

[Install]
WantedBy=multi-user.target
";

const OPENSM_UNIT: &str = "\
[Unit]
Description=Subnet manager of the simulated fabric
Requires=lab-ibsim.service
After=lab-ibsim.service

[Service]
Environment=SIM_HOST=@HOST@
WorkingDirectory=/tmp
ExecStart=/usr/bin/ibsim-run /usr/sbin/opensm -f -
Restart=on-failure
RestartSec=2

[Install]
WantedBy=multi-user.target
";

const IB_SCRIPT: &str = "\
#!/bin/sh
# Runs a diagnostic (ibstat, ibnetdiscover, sminfo, …) inside the simulated fabric.
export SIM_HOST=\"${SIM_HOST:-@HOST@}\"
cd /tmp && exec ibsim-run \"$@\"
";
