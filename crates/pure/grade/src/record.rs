//! What a run keeps of its nodes, from their facts.

use std::collections::BTreeSet;

use crosstie_fabric::{cages, pcie, wire};
use crosstie_model::{
    Cable, ClusterSpec, Facts,
    facts::rdma::{RdmaDevice, RdmaPort},
    run::{RunNode, RunPcieLink, RunPort},
};

/// The driver that switches a Spark's card on and off with its cable.
const HOT_PLUG_DRIVER: &str = "cx7-pcie-hotplug";

pub fn node(facts: &Facts, spec: Option<&ClusterSpec>) -> RunNode {
    let cages = cages(facts, spec);
    let cage_of = |device: &str, port: u32| {
        let mut of_port = cages.iter().filter(|cage| {
            let mut members = cage.members.iter();
            members.any(|member| member.device == device && member.port == port)
        });
        of_port.next().map(|cage| cage.id.clone())
    };
    let devices = facts.rdma.iter();
    let ports = devices.flat_map(|device| device.ports.iter().map(move |port| (device, port)));
    let ports = ports.map(|(device, found)| RunPort {
        cage: cage_of(&device.name, found.number),
        ..port(facts, device, found)
    });
    RunNode {
        host: facts.host.name.clone(),
        arch: facts.host.arch.known().cloned(),
        distro: facts.host.distro.pretty.known().cloned(),
        machine: facts.host.dmi.product.known().cloned(),
        kernel: facts.host.kernel.known().cloned(),
        rdma_driver: facts
            .software
            .module("mlx5_core")
            .and_then(|module| module.version.known().cloned()),
        rdma_core: facts
            .software
            .package(facts.distribution().packages.rdma_core)
            .map(str::to_owned),
        gpu_driver: facts.gpus.driver.known().cloned(),
        gpus: facts.gpus.iter().map(|gpu| gpu.name.clone()).collect(),
        nccl: nccl(facts),
        hot_plugged: is_hot_plugged(facts),
        ports: ports.collect(),
    }
}

fn port(facts: &Facts, device: &RdmaDevice, port: &RdmaPort) -> RunPort {
    let netdev = port.netdev.known();
    let interface = netdev.and_then(|name| facts.network.interface(name));
    let links = device.pci.known().map(|pci| pcie::links(facts, *pci));
    let links = links.into_iter().flatten().map(|link| RunPcieLink {
        at: link.at.to_string(),
        speed: link.speed,
        width: link.width,
        gbps: link.rate,
    });
    RunPort {
        device: device.name.clone(),
        port: port.number,
        interface: netdev.cloned(),
        cage: None,
        model: device.model.known().cloned(),
        firmware: device.firmware.known().cloned(),
        software: device.software,
        link_layer: port.link_layer.known().cloned(),
        rate_gbps: port.rate.known().copied(),
        interface_mtu: interface.and_then(|interface| interface.mtu.known().copied()),
        path_mtu: wire::path_mtu(facts, port),
        header_bytes: Some(wire::header_bytes(facts, port)),
        pcie: if device.software {
            Vec::new()
        } else {
            links.collect()
        },
    }
}

fn nccl(facts: &Facts) -> Vec<String> {
    let libraries = facts.software.libraries.iter();
    let libraries = libraries.filter(|library| library.name == "libnccl");
    let mut versions: BTreeSet<&str> = libraries
        .filter_map(|library| library.version.known().map(String::as_str))
        .collect();
    versions.extend(facts.software.package(facts.distribution().packages.nccl));
    versions.into_iter().map(str::to_owned).collect()
}

fn is_hot_plugged(facts: &Facts) -> bool {
    let lines = facts.system.kernel_log.known().into_iter().flatten();
    let lines = lines.map(|line| line.text.to_ascii_lowercase());
    let last = lines
        .rev()
        .find(|line| line.contains(HOT_PLUG_DRIVER) && line.contains("cable"));
    last.is_some_and(|line| line.contains("cable plugin") || line.contains("cable plug-in"))
}

/// What a cage is plugged into, as a measurement's ends have it.
pub fn cable_of(cables: &[Cable], host: &str, cage: &str) -> Option<String> {
    let mut of_cage = cables.iter().filter(|cable| {
        let mut ends = cable.ends();
        ends.any(|end| end.node == host && end.cage == cage)
    });
    of_cage.next().map(ToString::to_string)
}
