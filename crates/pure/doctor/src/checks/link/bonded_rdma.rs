//! RDMA interfaces joined in a bond.

use std::collections::BTreeSet;

use crosstie_fabric::carries_management;
use crosstie_model::{
    PciAddress,
    facts::{RdmaDevice, net::Interface},
};

use super::super::bond::{bond_above, is_bond};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, word};

pub(super) const CHECK: Check = Check {
    id: "bonded-rdma",
    title: "RDMA interfaces are joined in a bond",
    severity: "fault, or info where the card itself joined them",
    fires: "The interface of a fabric port belongs to a bond. Info where RoCE LAG made one RDMA device (`*_bond_*`) of all the \
        bond's interfaces; fault where each keeps a device of its own.",
    reads: &[
        "ip -j -d addr show",
        "/sys/class/net/IF/master",
        "/sys/class/infiniband",
    ],
    cause: "a bond, set up for TCP, over interfaces that RDMA uses",
    meaning: "A bond shares out TCP connections; RDMA goes past it. Where each interface keeps its own RDMA device, the \
        addresses move to the bond, the devices lose their GIDs, and collectives abort. Only ports of one card can be \
        joined by the card itself (RoCE LAG): that is one device for RDMA, and works.",
    fix: "Take the interfaces out of the bond, give each its own subnet, and name both devices in NCCL: it spreads the data \
        over them by itself.",
    verify: "`ip -d link show IF` shows no `master`, and each RDMA device has a RoCE v2 GID with its own address.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let ports = node.fabric.iter();
    let bonds: BTreeSet<&str> = ports
        .filter_map(|port| bond_of(node, port.device, port.netdev?))
        .collect();
    bonds.into_iter().map(|bond| hit(node, bond)).collect()
}

/// A bonded device may name the bond as its own interface; then the slave shows by its place.
fn bond_of<'a>(
    node: &ExaminedNode<'a>,
    device: &RdmaDevice,
    netdev: &'a Interface,
) -> Option<&'a str> {
    if is_bond(netdev) {
        return Some(&netdev.name);
    }
    let function = device.pci.known();
    let own = function
        .map_or(&[][..], |function| node.index.interfaces_of(*function))
        .iter()
        .copied()
        .chain([netdev]);
    let mut bonds = own.filter_map(|interface| bond_above(&node.facts.network, interface));
    bonds.next().map(|bond| bond.name.as_str())
}

fn hit(node: &ExaminedNode, bond: &str) -> CheckHit {
    let interfaces = node.facts.network.interfaces.iter();
    let slaves: Vec<&Interface> = interfaces
        .filter(|interface| {
            interface
                .master
                .known()
                .is_some_and(|master| master == bond)
        })
        .collect();
    let places: Vec<PciAddress> = slaves
        .iter()
        .filter_map(|slave| slave.pci.known().copied())
        .collect();
    let belongs = |device: &RdmaDevice| {
        let mut netdevs = device.ports.iter().filter_map(|port| port.netdev.known());
        device.pci.known().is_some_and(|pci| places.contains(pci))
            || netdevs.any(|name| name == bond || slaves.iter().any(|slave| slave.name == *name))
    };
    let devices: Vec<&RdmaDevice> = node
        .facts
        .rdma
        .iter()
        .filter(|device| belongs(device))
        .collect();
    let joined = match &devices[..] {
        [one] => one.name.contains("_bond_") || share_a_card(&places),
        _ => false,
    };
    let hit = if joined {
        CheckHit::info(bond)
            .cause("RoCE LAG: the card joined its own ports")
            .advice("Nothing has to be done. One queue pair uses one of the ports: several are needed to fill both.")
    } else if carries_management(node.facts, bond) {
        // A command that cuts off whoever pastes it is none.
        CheckHit::fault(bond)
    } else {
        slaves.iter().fold(CheckHit::fault(bond), |hit, slave| {
            hit.command(format!(
                "sudo ip link set dev {} nomaster",
                word(&slave.name)
            ))
        })
    };
    let hit = slaves.iter().fold(hit, |hit, slave| {
        hit.saw(
            format!("master of {}", slave.name),
            bond,
            format!("/sys/class/net/{}/master", slave.name),
        )
    });
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    hit.saw(
        "RDMA devices of its interfaces",
        names.join(", "),
        "/sys/class/infiniband",
    )
}

/// Two ports of one card with a single RDMA device between them: joined, whatever it is called.
fn share_a_card(places: &[PciAddress]) -> bool {
    let slots: BTreeSet<_> = places
        .iter()
        .map(|place| (place.domain, place.bus, place.device))
        .collect();
    places.len() > 1 && slots.len() == 1
}
