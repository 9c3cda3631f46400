//! Making a lab, from nothing to nodes that answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{GATEWAY, HUB_PROCESS, HUB_SOCKET, Lab, LabKind, down, host};
use crate::access::{self, KEY, KEY_PUBLIC};
use crate::arch::Arch;
use crate::container::{self, CableNamespace};
use crate::error::LabError;
use crate::hub;
use crate::image::{self, DiskImage};
use crate::lock::LabLock;
use crate::paths::LabPaths;
use crate::profile::{LabProfile, SegmentKind};
use crate::qemu::{self, NodeFilePaths, QemuAccelerator, accel};
use crate::snapshots::{self, PASSWORD};
use crate::state::{self, LabPhase, LabRecord};
use crate::{ReportProgress, process, seed, tools};

const LAB_LOCK_TIMEOUT: Duration = Duration::from_secs(15);
const HUB_TIMEOUT: Duration = Duration::from_secs(10);
const DISK_TIMEOUT: Duration = Duration::from_secs(60);
const HUB_CONFIG: &str = "hub.json";
const HUB_LOG: &str = "hub.log";
/// The user-mode network's addresses begin so (libslirp, `special_ethaddr`).
const GATEWAY_MAC: [u8; 2] = [0x52, 0x55];

/// The program that plays the parts of a lab beside its nodes: called with the arguments, the part, and where to find the rest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LabProgram {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

impl LabProgram {
    /// The product's own binary.
    pub fn crosstie(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: vec!["lab".to_owned()],
        }
    }

    pub(crate) fn role(&self, role: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(role);
        command
    }
}

/// What `up` is asked for.
#[derive(Debug, Clone)]
pub struct LabRequest {
    pub name: String,
    pub profile: LabProfile,
    pub kind: LabKind,
    /// Of the cables' faults.
    pub seed: u64,
    /// The first node's forwarded ssh port; free ones are chosen without it.
    pub ssh_port: Option<u16>,
    /// Boot anew instead of loading kept snapshots.
    pub fresh: bool,
    pub hub: LabProgram,
}

/// Makes the lab, or finds it already up. On any error nothing of it is left.
pub fn up(
    paths: &LabPaths,
    request: &LabRequest,
    say: ReportProgress<'_>,
) -> Result<Lab, LabError> {
    check_name(&request.name)?;
    check_kind(request)?;
    let lock = LabLock::take(&paths.lock(&request.name), LAB_LOCK_TIMEOUT)?;
    if let Ok(lab) = Lab::open(paths, &request.name) {
        return already_up(lab, request, say);
    }
    let directory = paths.lab(&request.name);
    if directory.exists() {
        say("an earlier `up` of this lab did not finish; clearing it away");
        down::clear(paths, &request.name, say)?;
    }
    match make(paths, request, &directory, say) {
        Ok(lab) => Ok(lab),
        Err(error) => {
            // The first error is the one to show.
            let _ = down::clear(paths, &request.name, &|_| ());
            lock.remove();
            Err(error)
        }
    }
}

fn already_up(lab: Lab, request: &LabRequest, say: ReportProgress<'_>) -> Result<Lab, LabError> {
    if lab.record.profile != request.profile || lab.record.kind != request.kind {
        return Err(LabError::OtherProfile {
            lab: lab.record.name,
            profile: lab.record.profile.name,
            kind: lab.record.kind,
        });
    }
    say("it is already up");
    Ok(lab)
}

/// The tools that it takes, and whether it can be at all.
fn check_kind(request: &LabRequest) -> Result<(), LabError> {
    let profile = &request.profile;
    match request.kind {
        LabKind::Machines => {
            let emulators = profile.architectures();
            let emulators = emulators.into_iter().map(Arch::emulator);
            let tools: Vec<&str> = emulators
                .chain([Arch::HOST.emulator(), "qemu-img", "ssh", "ssh-keygen"])
                .collect();
            tools::require(&tools)?;
            let set_up = profile.nodes.iter().find(|node| !node.container.is_plain());
            set_up.map_or(Ok(()), |node| {
                Err(LabError::ContainersOnly {
                    node: node.name.clone(),
                })
            })
        }
        LabKind::Containers => {
            tools::require(&[
                "unshare",
                "nsenter",
                "setpriv",
                "mount",
                "ip",
                "ssh",
                "ssh-keygen",
            ])?;
            if !rustix::process::geteuid().is_root() {
                return Err(LabError::NotRoot);
            }
            let foreign = profile.nodes.iter().find(|node| node.arch != Arch::HOST);
            foreign.map_or(Ok(()), |node| {
                Err(LabError::MachinesOnly {
                    what: format!("{} nodes", node.arch),
                })
            })
        }
    }
}

fn make(
    paths: &LabPaths,
    request: &LabRequest,
    directory: &Path,
    say: ReportProgress<'_>,
) -> Result<Lab, LabError> {
    let profile = &request.profile;
    if request.kind == LabKind::Machines {
        host::check_memory(profile)?;
    }
    host::check_disk(profile, directory, "--dir")?;
    let ssh_ports = host::ports(request.ssh_port, profile.nodes.len())?;
    snapshots::make_private(directory)?;
    let mut images = BTreeMap::new();
    for arch in profile.architectures() {
        images.insert(arch, image::ensure(paths, arch, directory, say)?);
    }
    let record = LabRecord {
        format: LabRecord::format(),
        name: request.name.clone(),
        phase: LabPhase::Starting,
        kind: request.kind,
        profile: profile.clone(),
        accel: QemuAccelerator::Tcg,
        images: images
            .iter()
            .map(|(arch, image)| (*arch, image.directory().to_owned()))
            .collect(),
        ssh_ports,
        password: String::new(),
    };
    let mut lab = Lab {
        directory: directory.to_owned(),
        record,
        option: paths.option.clone(),
    };
    match request.kind {
        LabKind::Machines => make_machines(&mut lab, paths, &images, request, say)?,
        LabKind::Containers => make_containers(&mut lab, request, say)?,
    }
    lab.record.phase = LabPhase::Ready;
    lab.write()?;
    Ok(lab)
}

fn make_machines(
    lab: &mut Lab,
    paths: &LabPaths,
    images: &BTreeMap<Arch, DiskImage>,
    request: &LabRequest,
    say: ReportProgress<'_>,
) -> Result<(), LabError> {
    let profile = &request.profile;
    let directory = lab.directory.clone();
    let accel = accelerate(paths, images, &directory, say);
    lab.record.accel = accel;
    let set = snapshots::place(paths, profile, images, accel)?;
    let kept = set.is_dir() && !request.fresh;
    if !kept {
        host::check_disk(profile, &set, "XDG_CACHE_HOME")?;
    }
    if kept {
        snapshots::take(&set, profile, &directory)?;
    } else {
        make_nodes(lab)?;
        make_disks(lab)?;
    }
    lab.write_access()?;
    lab.start_cables(request)?;
    if kept {
        lab.wake(say)
    } else {
        lab.boot_and_keep(&set, request.fresh, say)
    }
}

fn make_containers(
    lab: &mut Lab,
    request: &LabRequest,
    say: ReportProgress<'_>,
) -> Result<(), LabError> {
    let started = Instant::now();
    container::allow_watches(say)?;
    lab.tree()?;
    make_nodes(lab)?;
    let into = |directory: &Path| LabError::disk("write into", directory);
    for node in &lab.record.profile.nodes {
        let adaptation = lab.directory.join(NodeFilePaths(&node.name).adaptation());
        let archive = seed::adaptation().map_err(LabError::disk("make", &adaptation))?;
        write(&adaptation, &archive)?;
        container::make_ports(&lab.directory, &lab.record.profile, node)
            .map_err(into(&lab.directory))?;
    }
    lab.write_program(&request.hub)?;
    lab.write_access()?;
    let mut command = CableNamespace::command();
    lab.spawn(
        "the lab's network namespace",
        &mut command,
        HUB_LOG,
        HUB_PROCESS,
    )?;
    lab.cables()?.create(&lab.record.profile)?;
    let files = NodeFilePaths(GATEWAY);
    let mut command = request.hub.role("gateway");
    command.arg(&lab.directory);
    lab.spawn(
        "the gateway to the lab",
        &mut command,
        &files.log(),
        &files.process(),
    )?;
    lab.each_node(|node| {
        lab.start(node, None)?;
        lab.wait_booted(&node.name)?;
        lab.set_password(&node.name)
    })?;
    lab.refresh_carriers()?;
    say(&format!(
        "{} containers ready after {:.1} s; their RDMA ports are files, without verbs",
        lab.record.profile.nodes.len(),
        started.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// What the nodes of this machine's architecture get; others are always emulated.
fn accelerate(
    paths: &LabPaths,
    images: &BTreeMap<Arch, DiskImage>,
    directory: &Path,
    say: ReportProgress<'_>,
) -> QemuAccelerator {
    for arch in images.keys().filter(|arch| **arch != Arch::HOST) {
        say(&format!(
            "{arch} nodes are emulated: this machine is {}",
            Arch::HOST
        ));
    }
    let Some(image) = images.get(&Arch::HOST) else {
        return QemuAccelerator::Tcg;
    };
    let accel = accel::choose(paths, image, directory, say);
    say(&format!("acceleration: {accel}"));
    accel
}

/// Keys and seeds for nodes that were never booted.
fn make_nodes(lab: &Lab) -> Result<(), LabError> {
    let directory = &lab.directory;
    let profile = &lab.record.profile;
    access::make_key(&directory.join(KEY), "crosstie-lab")?;
    let authorized = read(&directory.join(KEY_PUBLIC))?;
    write(&directory.join(PASSWORD), access::random_hex(8)?.as_bytes())?;
    for (index, node) in profile.nodes.iter().enumerate() {
        let files = NodeFilePaths(&node.name);
        let key = directory.join(format!("{}.hostkey", node.name));
        access::make_key(&key, &node.name)?;
        let identity = seed::NodeSecrets {
            machine_id: &access::random_hex(16)?,
            host_key: &read(&key)?,
            host_key_public: &read(&directory.join(files.host_key()))?,
            authorized: &authorized,
        };
        let archive = seed::seed(profile, index, node, &identity)
            .map_err(LabError::disk("make", &directory.join(files.seed())))?;
        write(&directory.join(files.seed()), &archive)?;
        std::fs::remove_file(&key).map_err(LabError::disk("remove", &key))?;
    }
    Ok(())
}

fn make_disks(lab: &Lab) -> Result<(), LabError> {
    for node in &lab.record.profile.nodes {
        let mut command = Command::new("qemu-img");
        command
            .args(["create", "-q", "-f", "qcow2", "-F", "qcow2", "-b"])
            .arg(lab.record.image(node.arch).root())
            .arg(lab.directory.join(NodeFilePaths(&node.name).disk()));
        tools::output(&mut command, DISK_TIMEOUT)?;
    }
    Ok(())
}

impl Lab {
    fn write(&self) -> Result<(), LabError> {
        self.record
            .write(&self.directory)
            .map_err(LabError::disk("write into", &self.directory))
    }

    /// Ways in, for whoever has the lab's directory.
    fn write_access(&mut self) -> Result<(), LabError> {
        self.record.password = read(&self.directory.join(PASSWORD))?;
        self.write()?;
        access::write_ssh_files(
            &self.directory,
            &self.record.profile,
            &self.record.ssh_ports,
        )
        .map_err(LabError::disk("write into", &self.directory))
    }

    /// The hub, then the gateway that joins the management network to the host's loopback.
    fn start_cables(&self, request: &LabRequest) -> Result<(), LabError> {
        let config = hub_config(&self.record.profile, request.seed);
        let text = serde_json::to_vec_pretty(&config).unwrap_or_default();
        write(&self.directory.join(HUB_CONFIG), &text)?;
        let mut command = request.hub.role("hub");
        command.arg(self.directory.join(HUB_CONFIG));
        self.spawn("the hub", &mut command, HUB_LOG, HUB_PROCESS)?;
        let started = Instant::now();
        while let Err(error) = self.hub().status() {
            if state::process(&self.directory, HUB_PROCESS).is_none() {
                return Err(self.died("the hub", HUB_LOG));
            }
            if started.elapsed() > HUB_TIMEOUT {
                return Err(error.into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let files = NodeFilePaths(GATEWAY);
        let mut command = qemu::gateway(&files.socket("lan"), &self.record.ssh_ports);
        self.spawn(
            "the gateway to the lab",
            &mut command,
            &files.log(),
            &files.process(),
        )
    }

    fn spawn(
        &self,
        role: &str,
        command: &mut Command,
        log: &str,
        file: &str,
    ) -> Result<(), LabError> {
        let id = process::spawn(command, &self.directory, log).map_err(|source| {
            if source.kind() == std::io::ErrorKind::NotFound {
                tools::start(command, source).into()
            } else {
                self.died(role, log)
            }
        })?;
        state::write_process(&self.directory, file, id)
            .map_err(LabError::disk("write into", &self.directory))
    }

    /// From kept snapshots.
    fn wake(&self, say: ReportProgress<'_>) -> Result<(), LabError> {
        let started = Instant::now();
        self.each_node(|node| self.start(node, Some(snapshots::READY)))?;
        self.refresh_carriers()?;
        self.each_node(|node| self.set_clock(&node.name))?;
        say(&format!(
            "{} nodes ready from their snapshots in {:.1} s",
            self.record.profile.nodes.len(),
            started.elapsed().as_secs_f64()
        ));
        Ok(())
    }

    pub(super) fn set_password(&self, node: &str) -> Result<(), LabError> {
        let password = &self.record.password;
        let script = format!("printf 'lab:%s\\n' {password} | chpasswd && sync");
        self.wait_until(node, &script, self.boot_timeout())
            .map(drop)
    }

    /// First boots, the users' password, and the snapshots that later labs start from.
    fn boot_and_keep(
        &self,
        set: &Path,
        fresh: bool,
        say: ReportProgress<'_>,
    ) -> Result<(), LabError> {
        let started = Instant::now();
        say("first boot of these nodes (later ones start from a snapshot, in seconds)");
        self.each_node(|node| self.start(node, None))?;
        self.refresh_carriers()?;
        self.each_node(|node| {
            self.wait_booted(&node.name)?;
            say(&format!(
                "{} has booted after {} s",
                node.name,
                started.elapsed().as_secs()
            ));
            self.set_password(&node.name)
        })?;
        self.each_node(|node| self.save(node))?;
        if !fresh {
            self.each_node(|node| self.pause(&node.name))?;
            let outcome = snapshots::keep(set, &self.record.profile, &self.directory);
            self.each_node(|node| self.resume(&node.name))?;
            outcome?;
        }
        say(&format!(
            "{} nodes ready after {} s",
            self.record.profile.nodes.len(),
            started.elapsed().as_secs()
        ));
        Ok(())
    }
}

fn hub_config(profile: &LabProfile, seed: u64) -> hub::HubConfig {
    let management = hub::HubSegment {
        name: "management".to_owned(),
        medium: hub::SegmentMedium::Learn,
        attachments: profile
            .nodes
            .iter()
            .map(|node| hub::HubAttachment {
                name: format!("{}:{}", node.name, node.management),
                sockets: vec![NodeFilePaths(&node.name).socket(&node.management)],
                only_for: None,
            })
            .chain([hub::HubAttachment {
                name: GATEWAY.to_owned(),
                sockets: vec![NodeFilePaths(GATEWAY).socket("lan")],
                only_for: Some(GATEWAY_MAC),
            }])
            .collect(),
    };
    let wired = profile.segments.iter().map(|segment| hub::HubSegment {
        name: segment.name.clone(),
        medium: match segment.kind {
            SegmentKind::Cable => hub::SegmentMedium::Repeat,
            SegmentKind::Switch => hub::SegmentMedium::Learn,
        },
        attachments: profile
            .nodes
            .iter()
            .flat_map(|node| node.cages.iter().map(move |cage| (node, cage)))
            .filter(|(node, cage)| segment.ends.contains(&node.cage_ref(cage)))
            .map(|(node, cage)| attachment(node, cage))
            .collect(),
    });
    // A cage without a cable is a segment of its own: its twins still share the card's switch.
    let loose = profile.nodes.iter().flat_map(|node| {
        node.cages
            .iter()
            .filter(|cage| profile.segment_of(&node.cage_ref(cage)).is_none())
            .map(move |cage| hub::HubSegment {
                name: node.cage_ref(cage).to_string(),
                medium: hub::SegmentMedium::Repeat,
                attachments: vec![attachment(node, cage)],
            })
    });
    hub::HubConfig {
        seed,
        control: HUB_SOCKET.to_owned(),
        segments: std::iter::once(management)
            .chain(wired)
            .chain(loose)
            .collect(),
    }
}

fn attachment(
    node: &crate::profile::LabNode,
    cage: &crate::profile::LabCage,
) -> hub::HubAttachment {
    hub::HubAttachment {
        name: node.cage_ref(cage).to_string(),
        sockets: cage
            .nics
            .iter()
            .map(|nic| NodeFilePaths(&node.name).socket(&nic.netdev))
            .collect(),
        only_for: None,
    }
}

pub(super) fn check_name(name: &str) -> Result<(), LabError> {
    let fits = (1..=40).contains(&name.len())
        && !name.starts_with('-')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if fits {
        Ok(())
    } else {
        Err(LabError::Name(name.to_owned()))
    }
}

fn read(path: &Path) -> Result<String, LabError> {
    std::fs::read_to_string(path).map_err(LabError::disk("read", path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    state::write_atomic(path, bytes).map_err(LabError::disk("write", path))
}
