//! Cages and ceilings on the sample nodes, bent into the cases that people meet.

use crosstie_fabric::{
    Cage, CageGrouping, PortCeilingLimit, cages, carries_management, management,
};
use crosstie_facts::{CaptureEntry, RawCapture, facts};
use crosstie_model::ClusterSpec;

use crate::common::samples::raw as node;

const SPARK: &str = "spark-healthy";
const WORKSTATION: &str = "workstation-cx5-healthy";
const CLASS: &str = "sys/class/infiniband";

/// Writes through links, as a person with an editor would.
fn set(raw: &mut RawCapture, path: &str, text: &str) {
    let real = raw.real_path(path).unwrap();
    raw.insert(&real, CaptureEntry::File(text.as_bytes().to_vec()));
}

fn remove(raw: &mut RawCapture, path: &str) {
    set(raw, path, "");
}

fn cage(raw: &RawCapture, id: &str) -> Cage {
    let cages = cages(&facts(raw), None);
    let found = cages.iter().find(|cage| cage.id == id);
    found
        .unwrap_or_else(|| panic!("no cage {id} in {cages:?}"))
        .clone()
}

fn members(cage: &Cage) -> Vec<&str> {
    cage.members
        .iter()
        .map(|member| member.device.as_str())
        .collect()
}

fn assert_ceiling(cage: &Cage, gbps: f64, limit: PortCeilingLimit) {
    let ceiling = cage
        .ceiling
        .unwrap_or_else(|| panic!("{} has no ceiling", cage.id));
    assert!(
        (ceiling.rate.0 - gbps).abs() < 0.1,
        "{}: {}",
        cage.id,
        ceiling.rate
    );
    assert_eq!(ceiling.limit, limit);
}

#[test]
fn one_twin_alone_is_bound_by_its_own_link() {
    let mut raw = node(SPARK);
    set(
        &mut raw,
        &format!("{CLASS}/roceP2p1s0f1/ports/1/state"),
        "1: DOWN\n",
    );
    let cage = cage(&raw, "p1");
    assert!(cage.active);
    assert_ceiling(&cage, 112.8, PortCeilingLimit::Pcie);
}

#[test]
fn a_small_mtu_pays_more_headers() {
    let mut raw = node(SPARK);
    for netdev in ["enp1s0f1np1", "enP2p1s0f1np1"] {
        set(&mut raw, &format!("sys/class/net/{netdev}/mtu"), "1500\n");
    }
    assert_ceiling(&cage(&raw, "p1"), 185.2, PortCeilingLimit::PortRate);
}

#[test]
fn the_narrowest_link_up_to_the_root_counts() {
    let mut raw = node(SPARK);
    for bridge in ["0000:00:00.0", "0002:00:00.0"] {
        set(
            &mut raw,
            &format!("sys/bus/pci/devices/{bridge}/current_link_width"),
            "2\n",
        );
    }
    assert_ceiling(&cage(&raw, "p1"), 112.8, PortCeilingLimit::Pcie);
}

#[test]
fn unreadable_links_leave_the_port_rate() {
    let mut raw = node(WORKSTATION);
    for device in ["0000:03:00.0", "0000:00:01.1"] {
        set(
            &mut raw,
            &format!("sys/bus/pci/devices/{device}/current_link_width"),
            "255\n",
        );
    }
    assert_ceiling(&cage(&raw, "p0"), 98.0, PortCeilingLimit::PortRate);
}

#[test]
fn infiniband_has_smaller_headers() {
    let mut raw = node(WORKSTATION);
    set(
        &mut raw,
        &format!("{CLASS}/mlx5_0/ports/1/link_layer"),
        "InfiniBand\n",
    );
    assert_ceiling(&cage(&raw, "p0"), 99.4, PortCeilingLimit::PortRate);
}

#[test]
fn without_ids_from_the_driver_the_chip_tells_twins() {
    let mut raw = node(SPARK);
    for netdev in [
        "enp1s0f0np0",
        "enP2p1s0f0np0",
        "enp1s0f1np1",
        "enP2p1s0f1np1",
    ] {
        remove(&mut raw, &format!("sys/class/net/{netdev}/phys_switch_id"));
    }
    let cages = cages(&facts(&raw), None);
    let groups: Vec<_> = cages
        .iter()
        .map(|cage| (members(cage), cage.grouping))
        .collect();
    assert!(
        groups.contains(&(vec!["rocep1s0f1", "roceP2p1s0f1"], CageGrouping::Chip)),
        "{groups:?}"
    );
    assert_eq!(groups.len(), 2);
}

#[test]
fn neighbours_on_one_bus_are_not_twins() {
    let mut raw = node(WORKSTATION);
    for netdev in ["enp3s0f0np0", "enp3s0f1np1"] {
        remove(&mut raw, &format!("sys/class/net/{netdev}/phys_port_name"));
    }
    let cages = cages(&facts(&raw), None);
    assert_eq!(
        cages
            .iter()
            .map(|cage| cage.id.as_str())
            .collect::<Vec<_>>(),
        ["mlx5_0", "mlx5_1"]
    );
    assert!(
        cages
            .iter()
            .all(|cage| cage.grouping == CageGrouping::Alone)
    );
}

#[test]
fn the_cluster_file_has_the_last_word_and_a_shared_link_caps() {
    let mut raw = node(WORKSTATION);
    set(
        &mut raw,
        &format!("{CLASS}/mlx5_1/ports/1/state"),
        "4: ACTIVE\n",
    );
    for device in ["mlx5_0", "mlx5_1"] {
        set(
            &mut raw,
            &format!("{CLASS}/{device}/ports/1/rate"),
            "400 Gb/sec (4X NDR)\n",
        );
    }
    let spec = ClusterSpec::from_toml(
        "format = 1\nname = 'x'\n[[node]]\nname = 'work-b'\n[[node.cage]]\nid = 'both'\nports = ['mlx5_0', 'mlx5_1']\n",
    )
    .unwrap();
    let cages = cages(&facts(&raw), Some(&spec));
    assert_eq!(cages.len(), 1);
    assert_eq!(
        (cages[0].id.as_str(), cages[0].grouping),
        ("both", CageGrouping::Spec)
    );
    // Two functions of one card, one Gen4 x16 link.
    assert_ceiling(&cages[0], 225.6, PortCeilingLimit::Pcie);
}

#[test]
fn two_cards_with_the_same_port_names_keep_apart() {
    let mut raw = node(SPARK);
    for netdev in ["enp1s0f0np0", "enP2p1s0f0np0"] {
        set(
            &mut raw,
            &format!("sys/class/net/{netdev}/phys_switch_id"),
            "another chip\n",
        );
        set(
            &mut raw,
            &format!("sys/class/net/{netdev}/phys_port_name"),
            "p1\n",
        );
    }
    let cages = cages(&facts(&raw), None);
    let ids: Vec<_> = cages.iter().map(|cage| cage.id.as_str()).collect();
    assert_eq!(ids, ["rocep1s0f0", "rocep1s0f1"]);
}

#[test]
fn virtual_functions_have_no_cage() {
    let mut raw = node(WORKSTATION);
    let real = raw.real_path("sys/bus/pci/devices/0000:03:00.1").unwrap();
    raw.insert(
        &format!("{real}/physfn"),
        CaptureEntry::Link("../0000:03:00.0".to_owned()),
    );
    let cages = cages(&facts(&raw), None);
    assert_eq!(
        cages.iter().flat_map(members).collect::<Vec<_>>(),
        ["mlx5_0"]
    );
}

#[test]
fn soft_roce_has_an_interface_and_no_ceiling() {
    let mut raw = node(WORKSTATION);
    set(&mut raw, &format!("{CLASS}/mlx5_0/parent"), "enp3s0f0np0\n");
    remove(
        &mut raw,
        &format!("{CLASS}/mlx5_0/ports/1/gid_attrs/ndevs/0"),
    );
    let facts = facts(&raw);
    let device = facts.rdma_device("mlx5_0").unwrap();
    assert!(device.software);
    assert_eq!(device.ports[0].netdev.known().unwrap(), "enp3s0f0np0");
    assert_eq!(cages(&facts, None)[0].ceiling, None);
}

#[test]
fn management_is_what_the_default_route_and_ssh_use() {
    let mut raw = node(SPARK);
    assert_eq!(management(&facts(&raw)), ["enP7s7"]);
    let environment = b"SSH_SERVER_ADDRESS=192.168.177.11\n".to_vec();
    raw.insert_command("environment.txt", CaptureEntry::File(environment));
    let facts = facts(&raw);
    assert_eq!(management(&facts), ["enP7s7", "enp1s0f1np1"]);
    assert!(carries_management(&facts, "enp1s0f1np1"));
    assert!(!carries_management(&facts, "enP2p1s0f1np1"));
}

#[test]
fn a_port_below_the_management_bridge_carries_management() {
    let mut raw = node(WORKSTATION);
    let route = r#"[{"dst": "default", "gateway": "10.1.2.254", "dev": "br0"}]"#;
    raw.insert_command("ip-route.json", CaptureEntry::File(route.into()));
    let real = raw.real_path("sys/class/net/eno2np1").unwrap();
    raw.insert(
        &format!("{real}/master"),
        CaptureEntry::Link("../../virtual/net/br0".to_owned()),
    );
    let facts = facts(&raw);
    assert_eq!(management(&facts), ["br0"]);
    assert!(carries_management(&facts, "eno2np1"));
    assert!(!carries_management(&facts, "enp3s0f0np0"));
}
