//! Command lines. A snapshot loads only under the very arguments that it was saved under.

use std::fmt::Write;
use std::process::Command;

use super::QemuAccelerator;
use super::board::QemuBoard;
use crate::address;
use crate::arch::Arch;
use crate::image::DiskImage;
use crate::profile::{LabNode, LabProfile};

/// Files of a node, relative to the lab's directory. QEMU runs there: a unix socket's path has 108 bytes.
#[derive(Debug)]
pub(crate) struct NodeFilePaths<'a>(pub(crate) &'a str);

impl NodeFilePaths<'_> {
    pub(crate) fn disk(&self) -> String {
        format!("{}.qcow2", self.0)
    }

    pub(crate) fn seed(&self) -> String {
        format!("{}.seed", self.0)
    }

    /// What the seed of a container lacks.
    pub(crate) fn adaptation(&self) -> String {
        format!("{}.adaptation", self.0)
    }

    pub(crate) fn host_key(&self) -> String {
        format!("{}.hostkey.pub", self.0)
    }

    pub(crate) fn monitor(&self) -> String {
        format!("{}.qmp", self.0)
    }

    pub(crate) fn console(&self) -> String {
        format!("{}.console", self.0)
    }

    pub(crate) fn console_log(&self) -> String {
        format!("{}.console.log", self.0)
    }

    pub(crate) fn log(&self) -> String {
        format!("{}.qemu.log", self.0)
    }

    pub(crate) fn process(&self) -> String {
        format!("{}.pid", self.0)
    }

    pub(crate) fn socket(&self, interface: &str) -> String {
        format!("{}.{interface}.net", self.0)
    }
}

/// How a node's machine is started, as text: part of a snapshot's key.
pub(crate) fn shape(
    profile: &LabProfile,
    of: &LabNode,
    image: &DiskImage,
    accel: QemuAccelerator,
) -> String {
    let command = node(profile, of, image, accel, None);
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy());
    arguments.collect::<Vec<_>>().join("\n")
}

/// A place for a second processor, also where there is one. A machine that can have one alone is translated without memory
/// barriers, so its virtual card, which is served by another thread, may miss that the guest has filled an empty queue: the
/// port stands still for good (`NETDEV WATCHDOG`). QEMU 8.1 keeps barriers, but not those of locked instructions, which
/// Linux uses on x86.
fn processors(count: u8) -> String {
    format!("{count},maxcpus={}", count.max(2))
}

/// A node's machine; it starts stopped, so that the links get their state before the first instruction.
pub(crate) fn node(
    profile: &LabProfile,
    node: &LabNode,
    image: &DiskImage,
    accel: QemuAccelerator,
    snapshot: Option<&str>,
) -> Command {
    let files = NodeFilePaths(&node.name);
    let board = QemuBoard::of(node.arch);
    let mut command = Command::new(node.arch.emulator());
    command
        .args(["-name", &format!("crosstie-lab-{}", node.name)])
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-S"])
        .args(["-machine", board.machine])
        .args(accel.arguments(&board))
        .args(["-m", &node.memory_mib.to_string()])
        .args(["-smp", &processors(node.vcpus)])
        .arg("-kernel")
        .arg(image.kernel())
        .arg("-initrd")
        .arg(image.initrd())
        .args([
            "-append",
            &format!("{KERNEL_ARGUMENTS} console={}", board.console),
        ])
        .args([
            "-fw_cfg",
            &format!("name=opt/org.crosstie/seed,file={}", files.seed()),
        ])
        .args([
            "-drive",
            &format!(
                "file={},if=virtio,format=qcow2,cache=writeback,discard=unmap",
                files.disk()
            ),
        ])
        .args(["-device", "virtio-rng-pci"])
        .args(board.devices)
        .args([
            "-chardev",
            &format!(
                "socket,id=console,path={},server=on,wait=off,logfile={},logappend=on",
                files.console(),
                files.console_log()
            ),
        ])
        .args(["-serial", "chardev:console"])
        .args([
            "-chardev",
            &format!(
                "socket,id=monitor,path={},server=on,wait=off",
                files.monitor()
            ),
        ])
        .args(["-mon", "chardev=monitor,mode=control"]);
    nics(&mut command, profile, node, &files);
    if let Some(snapshot) = snapshot {
        command.args(["-loadvm", snapshot]);
    }
    command
}

/// No speculation to mitigate in an emulated CPU; a panic reboots, as a node with a watchdog would.
const KERNEL_ARGUMENTS: &str = "root=/dev/vda ro quiet mitigations=off random.trust_cpu=on panic=5";

fn nics(command: &mut Command, profile: &LabProfile, node: &LabNode, files: &NodeFilePaths<'_>) {
    let buses = node.nics().map(|(_, nic)| nic.bus).max().unwrap_or(0);
    // Firmware numbers the buses in the order of the root ports' slots.
    for bus in 1..=buses {
        let slot = 0x10 + bus;
        command.args([
            "-device",
            &format!(
                "pcie-root-port,id=bus{bus},bus=pcie.0,addr={slot:#x},chassis={bus},slot={bus}"
            ),
        ]);
    }
    let mac = address::management_mac(&profile.name, &node.name);
    nic(
        command,
        files,
        &node.management,
        &format!("mac={mac},bus=pcie.0,addr=0x8,speed=10000"),
    );
    for (_, fabric) in node.nics() {
        let mac = address::mac(&profile.name, &node.name, fabric.mac_offset);
        let place = format!(
            "mac={mac},bus=bus{},addr=0x0.{:#x},multifunction=on,speed={}",
            fabric.bus, fabric.function, fabric.speed_mbps
        );
        nic(command, files, &fabric.netdev, &place);
    }
}

fn nic(command: &mut Command, files: &NodeFilePaths<'_>, interface: &str, place: &str) {
    let socket = files.socket(interface);
    command
        .args([
            "-netdev",
            &format!("stream,id={interface},server=off,addr.type=unix,addr.path={socket}"),
        ])
        .args([
            "-device",
            &format!(
                "virtio-net-pci,id=nic-{interface},netdev={interface},romfile=,duplex=full,{place}"
            ),
        ]);
}

/// The way in: QEMU's user-mode network alone, without a machine, on the management segment. Restricted: nothing of the
/// lab gets out, only the forwarded ssh ports get in.
pub(crate) fn gateway(socket: &str, ports: &[u16]) -> Command {
    let mut user = format!(
        "user,id=host,net={},host={},restrict=on",
        address::NETWORK,
        address::GATEWAY
    );
    for (index, port) in ports.iter().enumerate() {
        let node = address::management(index);
        let _ = write!(user, ",hostfwd=tcp:127.0.0.1:{port}-{node}:22");
    }
    let mut command = Command::new(Arch::HOST.emulator());
    command
        .args(["-name", "crosstie-lab-gateway", "-machine", "none"])
        .args([
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-monitor",
            "none",
        ])
        .args(["-netdev", &user])
        .args([
            "-netdev",
            &format!("stream,id=wire,server=off,addr.type=unix,addr.path={socket}"),
        ])
        .args(["-netdev", "hubport,hubid=0,id=left,netdev=host"])
        .args(["-netdev", "hubport,hubid=0,id=right,netdev=wire"]);
    command
}
