//! A capture of a machine that nobody has, as large as captures may be: it takes its time, and not everybody's.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crosstie_facts::{CaptureEntry, CaptureMeta, RawCapture};
use crosstie_node::capture;
use serde_json::{Value, json};

use crate::common::{command, samples};

const INTERFACES: usize = 10_000;
const PORTS: usize = 2_000;

/// What each of the interfaces, ports and functions has.
struct Machine {
    raw: RawCapture,
    links: Vec<Value>,
    routes: Vec<Value>,
    neighbours: Vec<Value>,
    queue_pairs: Vec<Value>,
    netplan: String,
}

impl Machine {
    fn file(&mut self, path: &str, text: &str) {
        self.raw
            .insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
    }

    fn link(&mut self, path: &str, target: &str) {
        self.raw.insert(path, CaptureEntry::Link(target.to_owned()));
    }

    /// Each with a function, an address and a definition of its own.
    fn interface(&mut self, number: usize) {
        let function = function(number);
        let device = format!("sys/devices/pci0000:00/{function}");
        let name = format!("eth{number}");
        self.link(
            &format!("sys/bus/pci/devices/{function}"),
            &format!("../../../devices/pci0000:00/{function}"),
        );
        self.file(&format!("{device}/vendor"), "0x15b3\n");
        self.link(
            &format!("sys/class/net/{name}"),
            &format!("../../devices/pci0000:00/{function}/net/{name}"),
        );
        self.link(
            &format!("{device}/net/{name}/device"),
            &format!("../../../{function}"),
        );
        self.file(&format!("{device}/net/{name}/dev_port"), "0\n");
        let (high, low) = (number / 250, number % 250 + 1);
        let address = format!("10.{high}.{low}.1");
        self.links.push(json!({"ifindex": number + 1, "ifname": name, "flags": ["UP", "LOWER_UP"], "mtu": 1500,
            "operstate": "UP", "link_type": "ether", "address": format!("02:00:00:00:{high:02x}:{low:02x}"),
            "addr_info": [{"local": address, "prefixlen": 24, "scope": "global"}]}));
        self.routes.push(
            json!({"dst": format!("10.{high}.{low}.0/24"), "dev": name, "protocol": "kernel"}),
        );
        self.neighbours.push(
            json!({"dst": format!("10.{high}.{low}.2"), "dev": name, "state": ["REACHABLE"],
            "lladdr": format!("02:00:00:01:{high:02x}:{low:02x}")}),
        );
        let _ = writeln!(self.netplan, "    {name}: {{addresses: [{address}/24]}}");
    }

    /// A device with so many ports, on the function of the interface with the same number; nothing but that tells its
    /// interface.
    fn device(&mut self, number: usize, ports: usize) {
        let (name, function) = (format!("mlx5_{number}"), function(number));
        let device = format!("sys/devices/pci0000:00/{function}/infiniband/{name}");
        self.link(
            &format!("sys/class/infiniband/{name}"),
            &format!("../../devices/pci0000:00/{function}/infiniband/{name}"),
        );
        self.link(&format!("{device}/device"), &format!("../../../{function}"));
        for port in 1..=ports {
            self.file(&format!("{device}/ports/{port}/state"), "4: ACTIVE\n");
            self.file(
                &format!("{device}/ports/{port}/rate"),
                "200 Gb/sec (2X NDR)\n",
            );
        }
    }

    /// Both on one cable, by the driver's word.
    fn same_cage(&mut self, interface: usize) {
        let function = function(interface);
        let folder = format!("sys/devices/pci0000:00/{function}/net/eth{interface}");
        self.file(&format!("{folder}/phys_switch_id"), "0a0b0c\n");
        self.file(&format!("{folder}/phys_port_name"), "p0\n");
    }

    /// What programs see of a device, and use.
    fn in_use(&mut self, number: usize) {
        let (name, function) = (format!("mlx5_{number}"), function(number));
        let port = format!("sys/devices/pci0000:00/{function}/infiniband/{name}/ports/1");
        self.file(&format!("{port}/phys_state"), "5: LinkUp\n");
        self.file(&format!("{port}/link_layer"), "Ethernet\n");
        self.file(
            &format!("sys/class/infiniband_verbs/uverbs{number}/ibdev"),
            &format!("{name}\n"),
        );
        self.queue_pairs.push(
            json!({"ifname": name, "lqpn": 1, "port": 1, "type": "RC", "state": "RTS", "pid": 1}),
        );
    }

    fn finish(mut self) -> RawCapture {
        let netplan = std::mem::take(&mut self.netplan);
        self.file("etc/netplan/50-all.yaml", &netplan);
        let tables = [
            ("ip-addr.json", self.links),
            ("ip-route.json", self.routes),
            ("ip-neigh.json", self.neighbours),
            ("rdma-resource.json", self.queue_pairs),
        ];
        for (name, table) in tables {
            let text = Value::from(table).to_string();
            self.raw
                .insert_command(name, CaptureEntry::File(text.into_bytes()));
        }
        self.raw
    }
}

fn function(number: usize) -> String {
    format!(
        "{:04x}:{:02x}:{:02x}.{}",
        number >> 13,
        number >> 8 & 0x1f,
        number >> 3 & 0x1f,
        number & 7
    )
}

impl Machine {
    fn new(host: &str) -> Self {
        let meta = CaptureMeta {
            host: host.to_owned(),
            captured: "2026-11-01T12:00:00Z".to_owned(),
            root_refused: None,
        };
        Self {
            raw: RawCapture::new(meta),
            links: Vec::new(),
            routes: Vec::new(),
            neighbours: Vec::new(),
            queue_pairs: Vec::new(),
            netplan: "network:\n  version: 2\n  ethernets:\n".to_owned(),
        }
    }

    fn write(self, folder: &Path) -> PathBuf {
        let host = self.raw.meta.host.clone();
        let path = folder.join(format!("{host}.tar.gz"));
        capture::write(&self.finish(), &path).unwrap();
        path
    }
}

/// Fails when a command takes longer than a person would wait. An unoptimised build on a busy machine stays far below.
#[track_caller]
fn in_time(arguments: &[&str]) -> String {
    let started = Instant::now();
    let (_, stdout, stderr) = command::crosstie("", arguments);
    let elapsed = started.elapsed();
    assert!(
        elapsed < Duration::from_secs(60),
        "{arguments:?}: {elapsed:?}"
    );
    assert!(!stdout.is_empty(), "{stderr}");
    stdout
}

#[test]
fn ten_thousand_interfaces_hold_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new("large");
    (0..INTERFACES).for_each(|number| machine.interface(number));
    for number in 0..PORTS {
        machine.device(number, 1);
        machine.in_use(number);
    }
    let path = machine.write(folder.path());
    let path = path.to_str().unwrap();
    let scanned: Value =
        serde_json::from_str(&in_time(&["scan", "--json", "--from", path])).unwrap();
    assert_eq!(
        scanned[0]["interfaces"].as_array().unwrap().len(),
        INTERFACES
    );
    assert_eq!(scanned[0]["rdma"].as_array().unwrap().len(), PORTS);
    assert_eq!(scanned[0]["rdma"][0]["netdev"], "eth0");
    in_time(&["scan", "--from", path]);
    let found: Value =
        serde_json::from_str(&in_time(&["doctor", "--json", "--from", path])).unwrap();
    assert_eq!(found["nodes"][0].get("error"), None);
    in_time(&["doctor", "--from", path]);
}

/// All that one cage may hold: every port is compared with every other.
#[test]
fn thousands_of_ports_on_one_cable_hold_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new("twins");
    for number in 0..8 {
        machine.interface(number);
        machine.same_cage(number);
        machine.device(number, 256);
    }
    let path = machine.write(folder.path());
    let path = path.to_str().unwrap();
    let scanned: Value =
        serde_json::from_str(&in_time(&["scan", "--json", "--from", path])).unwrap();
    let members = scanned[0]["cages"][0]["members"].as_array().unwrap().len();
    assert_eq!(members, 2048);
    in_time(&["scan", "--from", path]);
    in_time(&["doctor", "--from", path]);
}

/// Two twins with thousands of addresses in one subnet: one finding of a few lines.
#[test]
fn thousands_of_addresses_hold_nobody_up() {
    let most = 16_384;
    let refused = with_addresses(most + 2);
    let (_, stdout, stderr) = command::crosstie("", &["doctor", "--from", refused.1.as_str()]);
    let said = stdout + &stderr;
    assert!(said.contains("addresses, and no more than"), "{said}");
    let most = with_addresses(most - 64);
    let found: Value =
        serde_json::from_str(&in_time(&["doctor", "--json", "--from", most.1.as_str()])).unwrap();
    let findings = found["nodes"][0]["findings"].as_array().unwrap().iter();
    let found = findings.filter(|finding| finding["id"] == "twins-same-subnet");
    let evidence: Vec<usize> = found
        .map(|finding| finding["evidence"].as_array().unwrap().len())
        .collect();
    assert!(
        matches!(evidence[..], [count] if count < 100),
        "{evidence:?}"
    );
}

/// A Spark with so many addresses on the twins of its cable, in one subnet: the folder that holds the capture, and its path.
fn with_addresses(count: usize) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let spark = samples::fixtures().join("nodes/spark-healthy");
    let loaded = capture::load(&spark).unwrap().into_iter().next().unwrap();
    let mut raw = loaded.raw.unwrap();
    let told = raw.command("ip-addr.json").into_known().unwrap();
    let mut links: Vec<Value> = serde_json::from_str(told).unwrap();
    let twins = links.iter_mut().filter(|link| {
        matches!(
            link["ifname"].as_str(),
            Some("enp1s0f1np1" | "enP2p1s0f1np1")
        )
    });
    for (twin, link) in (0..2).zip(twins) {
        let addresses = (0..count / 2).map(|index| {
            let (high, low) = (index / 250, index % 250 + 1);
            json!({"family": "inet", "local": format!("10.{}.{high}.{low}", 100 + twin),
                "prefixlen": 7, "scope": "global"})
        });
        link["addr_info"] = addresses.collect();
    }
    let text = serde_json::to_vec(&links).unwrap();
    raw.insert_command("ip-addr.json", CaptureEntry::File(text));
    let path = folder.path().join("addressed.tar.gz");
    capture::write(&raw, &path).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

/// More than any machine has is not looked at, and whoever was read with it is.
#[test]
fn a_machine_that_cannot_be_is_refused_at_once_and_its_neighbour_shown() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new("huge");
    (0..9_000).for_each(|number| machine.device(number, 10));
    let huge = machine.write(folder.path());
    let huge = huge.to_str().unwrap();
    let healthy = samples::fixtures().join("nodes/spark-healthy");
    let healthy = healthy.to_str().unwrap();
    let from = ["--from", huge, "--from", healthy];
    let both = |command: &str| in_time(&[&[command][..], &from].concat());
    let scanned = both("scan");
    assert!(
        scanned.contains("RDMA devices, and no more than"),
        "{scanned}"
    );
    assert!(scanned.contains("GB10"), "{scanned}");
    let examined = both("doctor");
    assert!(examined.contains("1 of 2 nodes examined"), "{examined}");
}
