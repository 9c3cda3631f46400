//! What holds of every plan: it can be undone, it is done once, addresses are nobody else's and stay, and no name breaks a
//! file.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use crosstie_fabric::cages;
use crosstie_facts::facts;
use crosstie_grade::reach;
use crosstie_model::{
    Cable, ClusterPlan, ClusterSpec, Facts, PlanStep, PortRef, Reading,
    facts::{net::Manager, persistence::Format},
    plan::FileChange,
    spec::{FabricSpec, NodeSpec, QosSpec, TwinAddresses},
};
use crosstie_plan::{plan, simulated_node::SimulatedNode};
use crosstie_report::{
    plan::{files, view},
    text::Palette,
};
use proptest::prelude::*;

use crate::common::samples;

static SAMPLES: LazyLock<Vec<Facts>> =
    LazyLock::new(|| samples::all().map(|raw| facts(&raw)).collect());

/// How a node differs from the sample.
#[derive(Debug, Clone)]
struct Twist {
    sample: usize,
    manager: u8,
    netplan: bool,
    qos: u8,
    hosts: Option<String>,
    nccl: Option<String>,
}

#[derive(Debug, Clone)]
struct Case {
    nodes: Vec<Twist>,
    /// 0 chain, 1 ring, 2 plane, 3 two planes.
    shape: u8,
    qos: bool,
    first: bool,
    down: bool,
    numbered: bool,
}

fn twist() -> impl Strategy<Value = Twist> {
    let text = || prop::option::of("([a-zA-Z0-9 .#=]{0,12}\n){0,3}[a-z#]{0,4}");
    (0..4_usize, 0..4_u8, any::<bool>(), 0..3_u8, text(), text()).prop_map(
        |(sample, manager, netplan, qos, hosts, nccl)| Twist {
            sample,
            manager,
            netplan,
            qos,
            hosts,
            nccl,
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let nodes = prop::collection::vec(twist(), 2..6);
    (nodes, 0..4_u8, any::<[bool; 4]>()).prop_map(|(nodes, shape, [qos, first, down, numbered])| {
        Case {
            nodes,
            shape,
            qos,
            first,
            down,
            numbered,
        }
    })
}

impl Twist {
    fn facts(&self, index: usize) -> Facts {
        let mut facts = SAMPLES[self.sample % SAMPLES.len()].clone();
        facts.host.name = format!("node-{index}");
        if !self.netplan {
            facts.software.packages = Reading::Value(BTreeMap::new());
            facts.persistence.netplan.clear();
            let plain = |format: Format| match format {
                Format::NetplanNetworkManager => Format::NetworkManager,
                Format::NetplanNetworkd => Format::Networkd,
                other => other,
            };
            for profile in &mut facts.persistence.profiles {
                profile.format = plain(profile.format);
                profile.file = format!("/etc/systemd/network/00-{index}.network");
            }
        }
        for interface in &mut facts.network.interfaces {
            let name = interface.name.clone();
            interface.manager = match self.manager {
                0 => Manager::NetworkManager,
                1 => Manager::Networkd,
                2 => Manager::Nobody,
                _ => Manager::Unknown,
            };
            if self.qos > 0 {
                interface.qos.pfc = Reading::Value(vec![0; usize::from(self.qos > 1)]);
                interface.qos.trust = Reading::Value("pcp".to_owned());
                interface.qos.dscp_to_priority = Reading::Value([(26, self.qos)].into());
                interface.qos.ecn_notify = Reading::Value([(3, false), (4, true)].into());
            }
            for (key, value) in [("arp_ignore", "0"), ("arp_announce", "1")] {
                let key = format!("net.ipv4.conf.{name}.{key}");
                facts.sysctls.insert(key, value.to_owned());
            }
        }
        let limits = ["212992", "268435456", "536870912"];
        for key in ["net.core.rmem_max", "net.core.wmem_max"] {
            let value = limits[usize::from(self.qos)].to_owned();
            facts.sysctls.insert(key.to_owned(), value);
        }
        if self.qos > 0 {
            let ports = facts.rdma.iter_mut().flat_map(|device| &mut device.ports);
            for port in ports {
                port.traffic_class = Reading::Value(0);
                port.cm_roce_mode = Reading::Value("IB/RoCE v1".to_owned());
            }
        }
        facts.software.services = vec!["NetworkManager".to_owned(), "systemd-networkd".to_owned()];
        facts
    }

    fn memory(&self, facts: &Facts) -> SimulatedNode {
        let mut memory = SimulatedNode::of(facts);
        for (path, text) in [("/etc/hosts", &self.hosts), ("/etc/nccl.conf", &self.nccl)] {
            if let (Some(text), false) = (text, facts.managed.blocks.contains_key(path)) {
                memory.files.insert(path.to_owned(), (0o644, text.clone()));
            }
        }
        memory
    }
}

impl Case {
    fn facts(&self) -> Vec<Facts> {
        let nodes = self.nodes.iter().enumerate();
        nodes.map(|(index, node)| node.facts(index)).collect()
    }

    fn spec(&self, facts: &[Facts]) -> ClusterSpec {
        let count = u32::try_from(facts.len()).unwrap();
        let number = |number: u32| self.numbered.then_some(number);
        let nodes = (1..).zip(facts).map(|(place, facts)| NodeSpec {
            name: facts.host.name.clone(),
            number: number(place),
            ssh: None,
            cages: Vec::new(),
        });
        let port = |node: u32, cage: usize| {
            let facts = &facts[(node % count) as usize];
            let cages = cages(facts, None);
            PortRef {
                node: facts.host.name.clone(),
                cage: cages[cage % cages.len()].id.clone(),
            }
        };
        let joints = match (self.shape, count) {
            (1, 3..) => count,
            _ => count - 1,
        };
        let cables = match self.shape {
            0 | 1 => (0..joints)
                .map(|node| Cable::Direct {
                    a: port(node, 0),
                    b: port(node + 1, 1),
                    number: number(node),
                })
                .collect(),
            planes => (0..count)
                .flat_map(|node| (0..usize::from(planes - 1)).map(move |cage| (node, cage)))
                .map(|(node, cage)| Cable::Switched {
                    port: port(node, cage),
                    plane: format!("leaf-{cage}"),
                })
                .collect(),
        };
        ClusterSpec {
            format: 1,
            name: "case".to_owned(),
            fabric: FabricSpec {
                mtu: Some(crosstie_model::Mtu(9000)),
                pool: Some("10.77.0.0/16".parse().unwrap()),
                twin_addresses: if self.first {
                    TwinAddresses::First
                } else {
                    TwinAddresses::All
                },
                unused_ports_down: self.down,
                ..FabricSpec::default()
            },
            qos: self.qos.then_some(QosSpec {
                priority: 3,
                dscp: 26,
                ecn: true,
            }),
            nodes: nodes.collect(),
            cables,
            planes: Vec::new(),
        }
    }
}

fn addresses(plan: &ClusterPlan) -> BTreeMap<String, Vec<String>> {
    let nodes = plan.nodes.iter().map(|node| {
        let own = node.addresses.iter();
        let own = own.map(|address| format!("{} {}", address.interface, address.address));
        (node.node.clone(), own.collect())
    });
    nodes.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn undone_is_as_it_was_and_done_is_done(case in case()) {
        let before = case.facts();
        let spec = case.spec(&before);
        let planned = plan(&spec, &before).unwrap();
        prop_assert_eq!(&planned, &plan(&spec, &before).unwrap());
        let mut after = Vec::new();
        for ((node, twist), facts) in planned.nodes.iter().zip(&case.nodes).zip(&before) {
            prop_assert!(node.refusals.is_empty(), "{:?}", node.refusals);
            let original = twist.memory(facts);
            let mut memory = original.clone();
            for step in &node.steps {
                prop_assert_eq!(&step.undo().undo(), step);
                prop_assert!(!step.is_done(facts), "a no-op: {step:?}");
                prop_assert_eq!(memory.apply(step), Ok(()));
            }
            let now = memory.facts();
            for step in &node.steps {
                prop_assert!(step.is_done(&now), "not done: {step:?}");
            }
            after.push(now);
            for step in node.undo() {
                prop_assert_eq!(memory.apply(&step), Ok(()));
            }
            prop_assert_eq!(memory, original);
        }
        let again = plan(&spec, &after).unwrap();
        for node in &again.nodes {
            prop_assert!(node.refusals.is_empty(), "{:?}", node.refusals);
            prop_assert!(node.steps.is_empty(), "again: {:#?}", node.steps);
        }
        prop_assert_eq!(addresses(&again), addresses(&planned));
        // Less of a cluster: what is given up goes, and can come back.
        let mut less = spec.clone();
        less.cables.pop();
        let shrunk = plan(&less, &after).unwrap();
        for ((node, twist), facts) in shrunk.nodes.iter().zip(&case.nodes).zip(&after) {
            let original = twist.memory(facts);
            let mut memory = original.clone();
            for step in node.steps.iter().chain(&node.undo()) {
                prop_assert_eq!(memory.apply(step), Ok(()));
            }
            prop_assert_eq!(memory, original);
        }
    }

    /// Whatever is right already on the running node: a boot reads files alone.
    #[test]
    fn a_file_that_was_lost_comes_back_whole(case in case()) {
        let before = case.facts();
        let spec = case.spec(&before);
        let planned = plan(&spec, &before).unwrap();
        let mut nodes = Vec::new();
        for ((node, twist), facts) in planned.nodes.iter().zip(&case.nodes).zip(&before) {
            let mut memory = twist.memory(facts);
            for step in &node.steps {
                prop_assert_eq!(memory.apply(step), Ok(()));
            }
            nodes.push(memory);
        }
        let done: Vec<Facts> = nodes.iter().map(SimulatedNode::facts).collect();
        for (index, facts) in done.iter().enumerate() {
            // Without a file of its own, netplan is not in use: the manager's files take its place.
            let files = facts.managed.files.iter();
            for (path, text) in files.filter(|(path, _)| !path.contains("/netplan/")) {
                let mut lost = nodes[index].clone();
                lost.files.remove(path);
                let mut all = done.clone();
                all[index] = lost.facts();
                let again = plan(&spec, &all).unwrap();
                let changes = again.nodes[index].steps.iter().flat_map(PlanStep::files);
                let restored = changes.filter_map(|change| match change {
                    FileChange::Whole { path: of, text, .. } if of == path => text.to.as_ref(),
                    _ => None,
                });
                let restored: Vec<&String> = restored.collect();
                prop_assert_eq!(restored, [text], "{}", path);
            }
        }
    }

    #[test]
    fn addresses_are_nobody_elses_and_stay(case in case(), more in twist()) {
        let facts = case.facts();
        let spec = case.spec(&facts);
        let planned = addresses(&plan(&spec, &facts).unwrap());
        let all: Vec<&str> = planned.values().flatten().map(|line| line.split_once(' ').unwrap().1).collect();
        let distinct: BTreeSet<&str> = all.iter().copied().collect();
        prop_assert_eq!(all.len(), distinct.len());

        let mut larger = case.clone();
        larger.nodes.push(more);
        let facts_of_more = larger.facts();
        let mut grown = larger.spec(&facts_of_more);
        // A ring is closed elsewhere when it grows: here the new node hangs at its end.
        if case.shape < 2 {
            grown.cables.truncate(spec.cables.len());
            grown.cables[..spec.cables.len()].clone_from_slice(&spec.cables);
        }
        let grown = addresses(&plan(&grown, &facts_of_more).unwrap());
        for (node, own) in &planned {
            prop_assert_eq!(&grown[node], own);
        }
        // Numbers that are written hold when a node goes, with its cables.
        if case.numbered {
            let gone = &spec.nodes[0].name;
            let mut smaller = spec.clone();
            smaller.nodes.remove(0);
            smaller.cables.retain(|cable| cable.ends().all(|end| end.node != *gone));
            let shrunk = addresses(&plan(&smaller, &facts[1..]).unwrap());
            for (node, own) in &shrunk {
                prop_assert!(own.iter().all(|address| planned[node].contains(address)));
            }
        }
    }

    #[test]
    fn a_proof_asks_every_peer_of_every_address_at_the_fabrics_mtu(case in case()) {
        let facts = case.facts();
        let spec = case.spec(&facts);
        let planned = plan(&spec, &facts).unwrap();
        let pairs = reach::pairs(&planned, &facts);
        for node in &planned.nodes {
            for own in &node.addresses {
                let asked = pairs.iter().filter(|pair| pair.from.address == own.address.addr());
                let mut asked: Vec<&String> = asked.map(|pair| &pair.to.node).collect();
                let mut peers: Vec<&String> = own.peers.iter().collect();
                asked.sort();
                peers.sort();
                prop_assert_eq!(asked, peers);
            }
            if node.refusals.is_empty() {
                let mut own = pairs.iter().filter(|pair| pair.from.node == node.node);
                prop_assert!(own.all(|pair| pair.bytes == spec.fabric.mtu.map(|mtu| mtu.0)));
            }
        }
    }

    #[test]
    fn no_name_breaks_a_file(
        case in case(),
        names in prop::collection::vec(hostile(), 6),
        which in any::<u8>(),
    ) {
        let mut facts = case.facts();
        let mut spec = case.spec(&facts);
        for (index, facts) in facts.iter_mut().enumerate() {
            let pick = |at: usize| names[(index + at) % names.len()].clone();
            if which & 1 != 0 {
                let old = facts.network.interfaces[index % facts.network.interfaces.len()].name.clone();
                rename_interface(facts, &old, &pick(0));
            }
            if which & 2 != 0 {
                let last = facts.rdma.len() - 1;
                facts.rdma[last].name = pick(1);
                facts.rdma[0].name = pick(2);
            }
            if which & 4 != 0 {
                facts.host.name = pick(3);
                spec.nodes[index].name = pick(3);
            }
        }
        if which & 8 != 0 {
            spec.name.clone_from(&names[4]);
            for cable in &mut spec.cables {
                if let Cable::Switched { plane, .. } = cable {
                    plane.push_str(&names[5]);
                }
            }
        }
        let Ok(planned) = plan(&spec, &facts) else { return Ok(()) };
        for node in &planned.nodes {
            let known = facts.iter().find(|facts| facts.host.name == node.node).unwrap();
            for file in files(node) {
                well_formed(&file.path, &file.text, known);
            }
        }
        let screen = view(&planned, &[], "", Palette::Plain);
        prop_assert!(!screen.chars().any(|c| c.is_control() && c != '\n'));
        let json = serde_json::to_string(&planned).unwrap();
        prop_assert_eq!(serde_json::from_str::<ClusterPlan>(&json).unwrap(), planned);
    }
}

fn hostile() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "a b",
        "a\"b",
        "a'b",
        "$(reboot)",
        "`id`",
        "a\nb",
        "a\r\n[Match]\nName=*",
        "x: y",
        "- x",
        "#x",
        "*",
        "en*",
        "%i",
        "!x",
        "a,b",
        "a:b",
        "=x",
        "^x",
        "../../etc",
        "..",
        ".",
        "",
        "null",
        "true",
        "0x10",
        "é",
        "\u{202e}x",
        "\u{0}",
        "eth0.100",
        "a\tb",
        "[x]",
        "{x}",
        "x\\",
        "\u{2028}",
    ]);
    prop_oneof![
        known.prop_map(str::to_owned),
        Just("n".repeat(300)),
        "[ -~\n\t]{1,20}",
        any::<String>(),
    ]
}

fn rename_interface(facts: &mut Facts, old: &str, new: &str) {
    for interface in &mut facts.network.interfaces {
        if interface.name == old {
            new.clone_into(&mut interface.name);
        }
    }
    let ports = facts.rdma.iter_mut().flat_map(|device| &mut device.ports);
    for port in ports {
        if port.netdev.known().is_some_and(|name| name == old) {
            port.netdev = Reading::Value(new.to_owned());
        }
    }
}

/// Each file read back by a parser of its format: nothing is in it but what was meant.
fn well_formed(path: &str, text: &str, facts: &Facts) {
    let is_interface = |name: &str| facts.network.interface(name).is_some();
    let lines = || {
        text.lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
    };
    let sections = || {
        let mut section = "";
        lines()
            .filter_map(move |line| {
                if let Some(name) = line.strip_prefix('[') {
                    section = name.strip_suffix(']').unwrap();
                    return None;
                }
                let (key, value) = line
                    .split_once('=')
                    .unwrap_or_else(|| panic!("{path}: {line:?}"));
                Some((section, key, value))
            })
            .collect::<Vec<_>>()
    };
    if path.starts_with("/etc/netplan/") {
        let parsed: serde_json::Value = serde_saphyr::from_str(text).unwrap();
        let network = parsed["network"].as_object().unwrap();
        assert_eq!(network.len(), 2, "{text}");
        assert!(
            network["ethernets"]
                .as_object()
                .unwrap()
                .keys()
                .all(|name| is_interface(name)),
            "{text}"
        );
    } else if path.ends_with(".network") {
        let names: Vec<&str> = sections()
            .iter()
            .filter(|(section, key, _)| (*section, *key) == ("Match", "Name"))
            .map(|(.., value)| *value)
            .collect();
        assert!(
            matches!(names.as_slice(), [name] if is_interface(name)),
            "{text}"
        );
    } else if path.ends_with(".nmconnection") {
        let names: Vec<&str> = sections()
            .iter()
            .filter(|(_, key, _)| *key == "interface-name")
            .map(|(.., value)| *value)
            .collect();
        assert!(
            matches!(names.as_slice(), [name] if is_interface(name)),
            "{text}"
        );
    } else if path.contains("sysctl.d") {
        for line in lines() {
            let (key, value) = line.split_once(" = ").unwrap();
            let parts: Vec<&str> = key.split('/').collect();
            if let ["net", "core", "rmem_max" | "wmem_max"] = parts.as_slice() {
                assert_eq!(value, "268435456", "{text}");
                continue;
            }
            assert!(
                matches!(parts.as_slice(), ["net", "ipv4", "conf", name, "arp_ignore" | "arp_announce"] if is_interface(name)),
                "{text}"
            );
            assert!(matches!(value, "1" | "2"), "{text}");
        }
    } else if path == "/etc/hosts" {
        for line in lines() {
            let (address, name) = line.split_once(' ').unwrap();
            address.parse::<std::net::IpAddr>().unwrap();
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)),
                "{text}"
            );
        }
    } else if path == "/etc/nccl.conf" {
        for line in lines() {
            let (name, value) = line.split_once('=').unwrap();
            assert!(name.starts_with("NCCL_"), "{text}");
            assert!(
                value
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"=,:_.-@".contains(&byte)),
                "{text}"
            );
        }
    } else if path.ends_with("fabric.toml") {
        toml::from_str::<crosstie_model::plan::BootUnitSettings>(text).unwrap();
    }
}

#[test]
fn a_plan_for_another_state_is_stale() {
    let case = Case {
        nodes: vec![
            Twist {
                sample: 0,
                manager: 1,
                netplan: true,
                qos: 0,
                hosts: None,
                nccl: None
            };
            2
        ],
        shape: 0,
        qos: false,
        first: false,
        down: false,
        numbered: false,
    };
    let facts = case.facts();
    let planned = plan(&case.spec(&facts), &facts).unwrap();
    let mut memory = SimulatedNode::of(&facts[0]);
    memory.files.insert(
        "/etc/security/limits.d/90-crosstie.conf".to_owned(),
        (0o644, "mine".to_owned()),
    );
    let outcome: Vec<_> = planned.nodes[0]
        .steps
        .iter()
        .map(|step| memory.apply(step))
        .collect();
    assert!(outcome.iter().any(Result::is_err));
    let mut files = planned.nodes[0].steps.iter().flat_map(PlanStep::files);
    assert!(matches!(files.next(), Some(FileChange::Whole { .. })));
}
