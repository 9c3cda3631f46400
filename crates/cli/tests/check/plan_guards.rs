//! What a plan refuses, each on a sample node bent into the case.

use crosstie_facts::{CaptureEntry, ReadGap, facts};
use crosstie_model::{
    ClusterSpec, Facts, Mtu, NodePlan, PlanStep, Reading,
    facts::{
        net::{IpRoute, Manager},
        persistence::Format,
    },
    plan::{FileChange, PlanRefusal, Renderer},
};
use crosstie_plan::{plan, simulated_node::SimulatedNode};

use crate::common::samples::{fixtures, raw};

const PORT: &str = "enp1s0f1np1";
const TWIN: &str = "enP2p1s0f1np1";

fn spec() -> ClusterSpec {
    let path = fixtures().join("clusters/pair.toml");
    ClusterSpec::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn planned(node: Facts) -> NodePlan {
    let other = facts(&raw("spark-b-healthy"));
    plan(&spec(), &[node, other]).unwrap().nodes.remove(0)
}

fn bent(bend: impl FnOnce(&mut Facts)) -> NodePlan {
    let mut node = facts(&raw("spark-healthy"));
    bend(&mut node);
    planned(node)
}

/// With a file of the capture's written.
fn with_file(path: &str, text: &str) -> NodePlan {
    let mut raw = raw("spark-healthy");
    raw.insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
    planned(facts(&raw))
}

fn port(node: &mut Facts) -> &mut crosstie_model::facts::net::Interface {
    let mut interfaces = node.network.interfaces.iter_mut();
    interfaces.find(|found| found.name == PORT).unwrap()
}

#[test]
fn management_is_never_touched() {
    let route = |interface: &str| IpRoute {
        destination: None,
        gateway: Some("192.168.177.1".parse().unwrap()),
        interface: Some(interface.to_owned()),
        source: None,
        metric: 50,
        table: "main".to_owned(),
        protocol: None,
    };
    let expected = PlanRefusal::Management {
        interface: PORT.to_owned(),
    };
    let by_route = bent(|node| node.network.routes = Reading::Value(vec![route(PORT)]));
    assert_eq!(
        by_route.refusals.as_slice(),
        std::slice::from_ref(&expected)
    );
    let address = "192.168.177.11".parse().unwrap();
    let by_ssh = bent(|node| node.network.ssh_address = Reading::Value(address));
    assert_eq!(by_ssh.refusals, [expected]);
}

#[test]
fn ports_that_are_not_free_are_left_alone() {
    let enslaved = bent(|node| port(node).master = Reading::Value("bond0".to_owned()));
    assert!(
        matches!(&enslaved.refusals[..], [PlanRefusal::Enslaved { master, .. }] if master == "bond0")
    );
    let small = bent(|node| port(node).max_mtu = Reading::Value(Mtu(2044)));
    assert!(matches!(
        small.refusals[..],
        [PlanRefusal::MtuTooLarge {
            mtu: 9000,
            max: 2044,
            ..
        }]
    ));
    let old = bent(|node| port(node).manager = Manager::Ifupdown);
    assert!(matches!(old.refusals[..], [PlanRefusal::Ifupdown { .. }]));
    let nobody = bent(|node| {
        port(node).manager = Manager::Nobody;
        node.software.services = vec!["ssh".to_owned()];
    });
    assert!(matches!(
        nobody.refusals[..],
        [PlanRefusal::NoManager { .. }]
    ));
}

#[test]
fn what_only_root_may_read_is_asked_for() {
    let mut raw = raw("spark-healthy");
    raw.insert(
        "etc/netplan/40-fabric.yaml",
        CaptureEntry::Gap(ReadGap::Denied),
    );
    let blind = planned(facts(&raw));
    let unread = |refusal: &PlanRefusal| matches!(refusal, PlanRefusal::Unread { file, .. } if file == "/etc/netplan/40-fabric.yaml");
    assert!(blind.refusals.iter().any(unread), "{:?}", blind.refusals);
}

#[test]
fn netplan_must_be_whole_and_applied() {
    let broken = with_file("etc/netplan/99-other.yaml", "network: [");
    assert!(
        matches!(&broken.refusals[..], [PlanRefusal::BrokenNetplan { file, .. }] if file == "/etc/netplan/99-other.yaml")
    );
    let made = |address: &str| format!("[Match]\nName={PORT}\n[Network]\nAddress={address}\n");
    let path = format!("run/systemd/network/10-netplan-{PORT}.network");
    let pending = with_file(&path, &made("192.168.177.99/24"));
    let names: Vec<&str> = pending
        .refusals
        .iter()
        .map(|refusal| match refusal {
            PlanRefusal::UnappliedNetplan { interface, .. } => interface.as_str(),
            other => panic!("{other}"),
        })
        .collect();
    // The twin was never rendered.
    assert_eq!(names, ["enP2p1s0f1np1", PORT]);
    let mut raw = raw("spark-healthy");
    let twin = "[Match]\nName=enP2p1s0f1np1\n[Network]\nAddress=192.168.178.11/24\n";
    raw.insert(
        &path,
        CaptureEntry::File(made("192.168.177.11/24").into_bytes()),
    );
    raw.insert(
        "run/systemd/network/10-netplan-enP2p1s0f1np1.network",
        CaptureEntry::File(twin.into()),
    );
    assert!(planned(facts(&raw)).refusals.is_empty());
}

#[test]
fn someone_elses_file_is_set_aside_only_if_it_is_for_the_fabric_alone() {
    let aside = |plan: &NodePlan| -> Vec<String> {
        let files = plan.steps.iter().flat_map(PlanStep::files);
        let files = files.filter_map(|file| match file {
            FileChange::Aside { path, .. } => Some(path.clone()),
            _ => None,
        });
        files.collect()
    };
    assert_eq!(aside(&bent(|_| {})), ["/etc/netplan/40-fabric.yaml"]);
    let cases = [
        (
            "network: {ethernets: {enp1s0f1np1: {mtu: 1500}, enP7s7: {dhcp4: true}}}",
            "other interfaces",
        ),
        (
            "network: {wifis: {wl0: {}}, ethernets: {enp1s0f1np1: {mtu: 1500}}}",
            "other interfaces",
        ),
        (
            "network: {ethernets: {all: {match: {name: 'en*'}, dhcp4: true}}}",
            "other interfaces",
        ),
        (
            "network: {renderer: NetworkManager, ethernets: {enp1s0f1np1: {mtu: 1500}}}",
            "renderer",
        ),
    ];
    for (text, expected) in cases {
        let plan = with_file("etc/netplan/50-other.yaml", text);
        let found = plan.refusals.iter().any(|refusal| {
            matches!(refusal, PlanRefusal::SharedProfile { file, why, .. } if file == "/etc/netplan/50-other.yaml" && why.contains(expected))
        });
        assert!(found, "{text}: {:?}", plan.refusals);
    }
    let own = with_file(
        "etc/netplan/90-crosstie.yaml",
        "network: {ethernets: {enp1s0f1np1: {mtu: 1500}}}",
    );
    let taken = |refusal: &PlanRefusal| matches!(refusal, PlanRefusal::Taken { .. });
    assert!(own.refusals.iter().any(taken), "{:?}", own.refusals);
}

#[test]
fn each_manager_gets_files_of_its_own() {
    let cases = [
        (
            Manager::NetworkManager,
            true,
            Renderer::NetplanNetworkManager,
            "/etc/netplan/90-crosstie.yaml",
        ),
        (
            Manager::Networkd,
            true,
            Renderer::NetplanNetworkd,
            "/etc/netplan/90-crosstie.yaml",
        ),
        (
            Manager::NetworkManager,
            false,
            Renderer::NetworkManager,
            "/etc/NetworkManager/system-connections/crosstie-enp1s0f1np1.nmconnection",
        ),
        (
            Manager::Networkd,
            false,
            Renderer::Networkd,
            "/etc/systemd/network/05-crosstie-enp1s0f1np1.network",
        ),
    ];
    for (manager, netplan, renderer, path) in cases {
        let mut node = facts(&raw("spark-healthy"));
        for interface in &mut node.network.interfaces {
            interface.manager = manager.clone();
        }
        if !netplan {
            node.persistence.netplan.clear();
            for profile in &mut node.persistence.profiles {
                "/etc/systemd/network/50-fabric.network".clone_into(&mut profile.file);
                profile.format = Format::Networkd;
            }
        }
        let plan = planned(node.clone());
        assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
        let json = serde_json::to_string(&plan).unwrap();
        assert!(json.contains(&format!(
            "\"by\":{}",
            serde_json::to_string(&renderer).unwrap()
        )));
        let mut memory = SimulatedNode::of(&node);
        for step in &plan.steps {
            memory.apply(step).unwrap();
        }
        assert!(
            memory.files.contains_key(path),
            "{path}: {:?}",
            memory.files.keys()
        );
    }
}

#[test]
fn an_old_nccl_is_told_its_gid_and_a_new_one_is_not() {
    use crosstie_model::facts::software::InstalledLibrary;
    let with = |version: &str| {
        bent(|node| {
            node.software.libraries = vec![InstalledLibrary {
                name: "libnccl".to_owned(),
                path: "/usr/lib/libnccl.so.2".to_owned(),
                version: Reading::Value(version.to_owned()),
            }];
        })
    };
    assert!(
        with("2.28.9")
            .notes
            .iter()
            .all(|note| !note.contains("GID 0"))
    );
    let old = with("2.19.3");
    assert!(
        old.notes.iter().any(|note| note.contains("plan again")),
        "{:?}",
        old.notes
    );
}

#[test]
fn a_twin_of_an_active_cage_is_never_taken_down() {
    let mut spec = spec();
    spec.fabric.unused_ports_down = true;
    let mut node = facts(&raw("spark-healthy"));
    for interface in &mut node.network.interfaces {
        interface.up = Reading::Value(true);
    }
    let down = |spec: &ClusterSpec, node: &Facts| -> Vec<String> {
        let plan = plan(spec, std::slice::from_ref(node))
            .unwrap()
            .nodes
            .remove(0);
        let down = plan.steps.iter().filter_map(|step| match step {
            PlanStep::InterfaceUp(step) => Some(step.interface.clone()),
            _ => None,
        });
        down.collect()
    };
    assert_eq!(down(&spec, &node), ["enp1s0f0np0", "enP2p1s0f0np0"]);
    // Without its cable in the file, p1 is still active.
    spec.cables.clear();
    assert_eq!(down(&spec, &node), ["enp1s0f0np0", "enP2p1s0f0np0"]);
}

/// Twins are told apart by their hardware addresses, and a file that means one port twice means another that it does not name.
#[test]
fn a_twin_is_never_lost_without_a_word() {
    let twins = facts(&raw("spark-healthy"));
    let mac = |name: &str| twins.network.interface(name).unwrap().mac.known().cloned();
    let (own, twin) = (mac(PORT).unwrap(), mac(TWIN).unwrap());
    let node = bent(|node| {
        let mut interfaces = node.network.interfaces.iter_mut();
        let found = interfaces.find(|found| found.name == TWIN).unwrap();
        found.mac = Reading::Value(own.clone());
    });
    let expected = PlanRefusal::SameMac {
        interface: PORT.to_owned(),
        other: TWIN.to_owned(),
        mac: own.to_string(),
    };
    assert!(node.refusals.contains(&expected), "{:?}", node.refusals);

    let with_cage = |ports: &str| {
        let path = fixtures().join("clusters/pair.toml");
        let text = std::fs::read_to_string(path).unwrap();
        let name = &twins.host.name;
        let entry = format!("name = \"{name}\"\n");
        assert!(text.contains(&entry), "{text}");
        let cage = format!("{entry}[[node.cage]]\nid = \"p1\"\nports = [{ports}]\n");
        ClusterSpec::from_toml(&text.replace(&entry, &cage)).unwrap()
    };
    let twice = with_cage(&format!("{{ mac = \"{own}\" }}, {{ mac = \"{own}\" }}"));
    let faults: Vec<String> = twice.check().iter().map(ToString::to_string).collect();
    assert!(
        faults[0].contains(&format!("cage 'p1' lists MAC {own} twice")),
        "{faults:?}"
    );

    let gone = with_cage(&format!(
        "{{ mac = \"{own}\" }}, {{ mac = \"02:00:00:00:00:99\" }}"
    ));
    let other = facts(&raw("spark-b-healthy"));
    let planned = plan(&gone, &[twins.clone(), other.clone()]).unwrap();
    let expected = PlanRefusal::NoPort {
        cage: "p1".to_owned(),
        port: "MAC 02:00:00:00:00:99".to_owned(),
    };
    let refusals = &planned.nodes[0].refusals;
    assert!(refusals.contains(&expected), "{refusals:?}");

    let sound = with_cage(&format!("{{ mac = \"{own}\" }}, {{ mac = \"{twin}\" }}"));
    let planned = plan(&sound, &[twins.clone(), other]).unwrap();
    assert!(
        planned.nodes[0].refusals.is_empty(),
        "{:?}",
        planned.nodes[0].refusals
    );
}

/// Files that netplan made are told by their names, whatever people called the interfaces; and what is read before them by its name, too.
#[test]
fn a_capture_is_planned_as_the_node_is() {
    let mut raw = raw("spark-healthy");
    let mut keep = |path: &str, text: &str| {
        raw.insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
    };
    let mut netplan = String::from("network:\n  ethernets:\n");
    let declared = [(PORT, "192.168.177.11/24"), (TWIN, "192.168.178.11/24")];
    let others = ["lo", "vlan77", "br-lan", "fabric0"].map(|name| (name, "10.0.0.1/24"));
    for (name, address) in others {
        netplan += &["    ", name, ": {addresses: [", address, "]}\n"].concat();
    }
    for (name, address) in declared.iter().chain(&others) {
        keep(
            &format!("run/systemd/network/10-netplan-{name}.network"),
            &format!("[Match]\nName={name}\n[Network]\nAddress={address}\n"),
        );
    }
    keep("etc/netplan/70-alice.yaml", &netplan);
    for name in ["10-alice", "10-zeus"] {
        let path = format!("etc/systemd/network/{name}.network");
        keep(
            &path,
            &format!("[Match]\nName={PORT}\n[Network]\nDHCP=no\n"),
        );
    }
    let live = planned(facts(&raw));
    let captured = planned(facts(&crosstie_node::cut_to_allow_list(&raw)));
    assert_eq!(live.refusals, []);
    assert_eq!(captured.refusals, live.refusals);
    let kinds = |plan: &NodePlan| {
        let steps = plan.steps.iter();
        steps.map(std::mem::discriminant).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&captured), kinds(&live));
}
