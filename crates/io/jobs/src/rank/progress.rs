//! What a rank does, seen from outside its engine: processor time, RDMA packets, cables, stopped processes.

use std::{fs, path::PathBuf};

use crosstie_counters::{CounterGroup, CounterPort, CounterReading};
use crosstie_launch::job::JobPort;

/// What a card or Soft-RoCE counts for RDMA alone, packets or what stands for them.
const PACKETS: [(CounterGroup, &str); 4] = [
    (CounterGroup::Hardware, "sent_pkts"),
    (CounterGroup::Hardware, "rcvd_pkts"),
    (CounterGroup::Port, "port_xmit_packets"),
    (CounterGroup::Port, "port_rcv_packets"),
];

/// The control group of this process, which is its unit's.
pub(super) struct ControlGroup(Option<PathBuf>);

impl ControlGroup {
    pub(super) fn own() -> Self {
        let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = text.lines().find_map(|line| line.strip_prefix("0::/"));
        Self(own.map(|own| PathBuf::from("/sys/fs/cgroup").join(own)))
    }

    pub(super) fn cpu_microseconds(&self) -> u64 {
        let text = self.read("cpu.stat");
        let mut lines = text.lines();
        let used = lines.find_map(|line| line.strip_prefix("usage_usec "));
        used.and_then(|used| used.trim().parse().ok()).unwrap_or(0)
    }

    /// Whether a process of it is stopped.
    pub(super) fn is_stopped(&self) -> bool {
        let processes = self.read("cgroup.procs");
        processes.lines().any(|process| {
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            // The name before it may hold anything.
            let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
            state.is_some_and(|state| state.starts_with('T'))
        })
    }

    fn read(&self, name: &str) -> String {
        let path = self.0.as_ref().map(|folder| folder.join(name));
        path.and_then(|path| fs::read_to_string(path).ok())
            .unwrap_or_default()
    }
}

/// Of all ports together.
pub(super) fn rdma_packets(ports: &[JobPort]) -> u64 {
    let counted = ports.iter().map(|port| {
        let reading = crosstie_node::counters(&CounterPort {
            device: Some((port.device.clone(), port.number)),
            interface: None,
        });
        packets(&reading)
    });
    counted.sum()
}

/// Ports that count in both places count every packet twice, before and after alike.
fn packets(reading: &CounterReading) -> u64 {
    let values = PACKETS
        .iter()
        .filter_map(|(group, name)| reading.get(*group, name));
    values.sum()
}

/// Cables whose port has no carrier. What cannot be read is no fault of the cable's.
pub(super) fn ports_without_carrier(ports: &[JobPort]) -> Vec<String> {
    let is_dark = |port: &&JobPort| {
        let interface = port.interface.as_deref().filter(|name| !name.contains('/'));
        let Some(interface) = interface else {
            return false;
        };
        let folder = format!("/sys/class/net/{interface}");
        match fs::read_to_string(format!("{folder}/carrier")) {
            Ok(text) => text.trim() == "0",
            // It is not even up: the kernel refuses to tell.
            Err(_) => fs::read_to_string(format!("{folder}/operstate"))
                .is_ok_and(|text| text.trim() == "down"),
        }
    };
    let mut cables: Vec<String> = ports
        .iter()
        .filter(is_dark)
        .map(|port| port.cable.clone())
        .collect();
    cables.dedup();
    cables
}
