//! The cables between containers: veth pairs whose far ends meet on bridges, one a segment, in a network namespace of the
//! lab's own. A cable's bridge forgets every address at once and so repeats each frame to all; a switch's learns.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::address;
use crate::error::LabError;
use crate::process::ProcessId;
use crate::profile::{LabNode, LabProfile, SegmentKind};
use crate::tools::{self, ToolError};

const IP_TIMEOUT: Duration = Duration::from_secs(20);
const NAMESPACE_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// More than any port of a node is set to, so that a whole cable loses nothing for its size.
const MTU: u32 = 9_216;
const LAN: &str = "lan";
/// Frames for reserved group addresses pass, but for the three that the kernel never forwards.
const BRIDGE: &str = "mcast_snooping 0 forward_delay 0 group_fwd_mask 0xfff8";

/// The process that holds the cables' network namespace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CableNamespace(pub(crate) ProcessId);

/// How one NIC's end of a cable is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NicCableEnd {
    /// `None` for the management interface.
    pub(crate) nic: Option<usize>,
    pub(crate) up: bool,
    /// Larger frames vanish.
    pub(crate) mtu: Option<u32>,
}

impl CableNamespace {
    /// Holds a network namespace and does nothing else.
    pub(crate) fn command() -> Command {
        let mut command = Command::new("unshare");
        command.args(["--net", "--", "sleep", "infinity"]);
        command
    }

    pub(crate) fn namespace(self) -> String {
        namespace(self.0)
    }

    /// Makes the bridges, and an address on the management network for the way in.
    pub(crate) fn create(self, profile: &LabProfile) -> Result<(), LabError> {
        wait_apart(self.0)?;
        let mut batch = format!(
            "link add name {LAN} type bridge {BRIDGE}\naddress add {}/24 dev {LAN}\nlink set {LAN} up\nlink set lo up\n",
            address::GATEWAY
        );
        for (name, ageing) in bridges(profile) {
            let _ = writeln!(
                batch,
                "link add name {name} mtu {MTU} type bridge {BRIDGE}{ageing}\nlink set {name} up"
            );
        }
        self.ip(&batch)
    }

    /// Gives a starting node its interfaces. Their far ends are down until `set_ends` says otherwise.
    pub(crate) fn plug(
        self,
        profile: &LabProfile,
        index: usize,
        node: &LabNode,
        into: ProcessId,
    ) -> Result<(), LabError> {
        wait_apart(into)?;
        self.disconnect_node(index, node);
        let mut batch = String::new();
        let management = (far_end(index, None), LAN.to_owned(), &node.management);
        let mac = address::management_mac(&profile.name, &node.name);
        let mut add = |(far, bridge, name): (String, String, &String), mac: String| {
            let _ = writeln!(
                batch,
                "link add name {far} mtu {MTU} type veth peer name {name} address {mac} netns {}\n\
                 link set {far} master {bridge}",
                into.pid
            );
        };
        add(management, mac);
        for (nic, (cage, interface)) in node.nics().enumerate() {
            let bridge = bridge_of(profile, index, node, &cage.name);
            let mac = address::mac(&profile.name, &node.name, interface.mac_offset);
            add((far_end(index, Some(nic)), bridge, &interface.netdev), mac);
        }
        self.ip(&batch)
    }

    /// Nothing that the node still sends gets out. Those of an earlier boot also go by themselves, by and by, with the
    /// namespace that they were in: what is gone already is as well.
    pub(crate) fn disconnect_node(self, index: usize, node: &LabNode) {
        let nics = (0..node.nics().count()).map(Some);
        for nic in nics.chain([None]) {
            let _ = self.ip(&format!("link delete {}\n", far_end(index, nic)));
        }
    }

    /// A far end that is down takes the carrier from the node's interface, as a pulled cable does.
    pub(crate) fn set_ends(self, ends: &[(usize, NicCableEnd)]) -> Result<(), LabError> {
        let there = self.links()?;
        let mut batch = String::new();
        let mut named = Vec::new();
        for (index, end) in ends {
            let far = far_end(*index, end.nic);
            if there.contains(&far) {
                let state = if end.up { "up" } else { "down" };
                let mtu = end.mtu.unwrap_or(MTU);
                let _ = writeln!(batch, "link set dev {far} mtu {mtu} {state}");
                named.push(far);
            }
        }
        let mut command = self.inside();
        // Another node may be on its way out, and its ends go one by one: the others are set all the same.
        command.args(["ip", "-force", "-batch", "-"]);
        let Err(error) = tools::output_for(&mut command, &batch, IP_TIMEOUT) else {
            return Ok(());
        };
        let left = self.links()?;
        if named.iter().all(|far| left.contains(far)) {
            return Err(error.into());
        }
        Ok(())
    }

    fn ip(self, batch: &str) -> Result<(), LabError> {
        let mut command = self.inside();
        command.args(["ip", "-batch", "-"]);
        tools::output_for(&mut command, batch, IP_TIMEOUT)?;
        Ok(())
    }

    fn links(self) -> Result<Vec<String>, ToolError> {
        let mut command = self.inside();
        command.args(["ip", "-brief", "link"]);
        let shown = tools::output(&mut command, IP_TIMEOUT)?;
        let name = |line: &str| line.split([' ', '@']).next().unwrap_or_default().to_owned();
        Ok(shown.lines().map(name).collect())
    }

    fn inside(self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.namespace())).arg("--");
        command
    }
}

fn namespace(process: ProcessId) -> String {
    format!("/proc/{}/ns/net", process.pid)
}

/// `unshare` is a process of the host's own network until it has made another.
fn wait_apart(process: ProcessId) -> Result<(), LabError> {
    let started = Instant::now();
    let own = std::fs::read_link("/proc/self/ns/net");
    let path = namespace(process);
    loop {
        match (std::fs::read_link(Path::new(&path)), &own) {
            (Ok(theirs), Ok(own)) if theirs != *own => return Ok(()),
            (Err(source), _) if !process.alive() => {
                return Err(LabError::disk("read", Path::new(&path))(source));
            }
            _ if started.elapsed() > NAMESPACE_TIMEOUT => {
                return Err(LabError::NoNamespace { path });
            }
            _ => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

/// The end of a NIC's cable that is not the node's.
fn far_end(node: usize, nic: Option<usize>) -> String {
    match nic {
        Some(nic) => format!("n{node}-{nic}"),
        None => format!("n{node}-m"),
    }
}

/// A cage without a cable has a bridge of its own: its twins still share the card's switch.
fn bridges(profile: &LabProfile) -> Vec<(String, &'static str)> {
    let wired = profile.segments.iter().enumerate().map(|(index, segment)| {
        let ageing = match segment.kind {
            SegmentKind::Cable => " ageing_time 0",
            SegmentKind::Switch => "",
        };
        (format!("br{index}"), ageing)
    });
    let mut bridges: Vec<_> = wired.collect();
    for (index, node) in profile.nodes.iter().enumerate() {
        for cage in &node.cages {
            if profile.segment_of(&node.cage_ref(cage)).is_none() {
                let name = bridge_of(profile, index, node, &cage.name);
                bridges.push((name, " ageing_time 0"));
            }
        }
    }
    bridges
}

fn bridge_of(profile: &LabProfile, index: usize, node: &LabNode, cage: &str) -> String {
    let wired = profile.segments.iter().position(|segment| {
        let mut ends = segment.ends.iter();
        ends.any(|end| end.node == node.name && end.cage == cage)
    });
    let own = || node.cages.iter().position(|other| other.name == cage);
    match wired {
        Some(segment) => format!("br{segment}"),
        None => format!("c{index}-{}", own().unwrap_or_default()),
    }
}
