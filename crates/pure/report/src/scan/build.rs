//! Facts → the view of a scan.

use std::{
    collections::{HashMap, HashSet},
    fmt::Display,
};

use crosstie_fabric::{self as fabric, CageGrouping, PortCeilingLimit, pcie, port_ceiling, wire};
use crosstie_model::{
    ClusterSpec, Facts, Reading,
    facts::{
        net,
        rdma::{RdmaDevice, RdmaPort as Port},
    },
};

use super::{
    ScannedCage, ScannedDriver, ScannedGap, ScannedGid, ScannedGpu, ScannedInterface, ScannedNode,
    ScannedPcie, ScannedRdmaPort,
};

pub fn node(facts: &Facts, spec: Option<&ClusterSpec>) -> ScannedNode {
    let cages = fabric::cages(facts, spec);
    let host = &facts.host;
    let ports = facts.rdma.iter().flat_map(|device| {
        let users = Users::of(device);
        let ports = device.ports.iter();
        ports.map(move |port| {
            (
                device,
                port,
                users.as_ref().map(|users| users.at(port.number)),
            )
        })
    });
    let management = fabric::management(facts);
    let mut cage_of: HashMap<(&str, u32), &str> = HashMap::new();
    for cage in &cages {
        for member in &cage.members {
            let port = (member.device.as_str(), member.port);
            cage_of.entry(port).or_insert(&cage.id);
        }
    }
    let routes = facts.network.routes.known().into_iter().flatten();
    let default_routes: HashSet<&str> = routes
        .filter(|route| route.destination.is_none())
        .filter_map(|route| route.interface.as_deref())
        .collect();
    ScannedNode {
        host: host.name.clone(),
        source: None,
        reached: None,
        arch: host.arch.known().cloned(),
        vendor: host.dmi.vendor.known().cloned(),
        product: host.dmi.product.known().cloned(),
        distro: host.distro.pretty.known().cloned(),
        kernel: host.kernel.known().cloned(),
        cpus: host.cpu.online.known().copied(),
        memory_bytes: host.memory.total.known().map(|bytes| bytes.0),
        rdma: ports
            .map(|(device, port, users)| {
                let cage = cage_of.get(&(device.name.as_str(), port.number));
                ScannedRdmaPort {
                    user_queue_pairs: users,
                    ..rdma_port(facts, cage.copied(), device, port)
                }
            })
            .collect(),
        cages: cages.iter().map(cage).collect(),
        gpus: facts.gpus.iter().map(gpu).collect(),
        gpu_driver: facts.gpus.driver.known().cloned(),
        cuda: facts.gpus.cuda.known().cloned(),
        interfaces: facts
            .network
            .interfaces
            .iter()
            .filter(|interface| interface.name != "lo")
            .map(|interface| self::interface(facts, interface, &default_routes))
            .collect(),
        management,
        drivers: drivers(facts),
        unread: facts
            .unread
            .iter()
            .map(|gap| ScannedGap {
                what: gap.what.clone(),
                why: gap.why.clone(),
                root_would: gap.root_would,
            })
            .collect(),
    }
}

fn text<T: Display>(reading: &Reading<T>) -> Option<String> {
    reading.known().map(ToString::to_string)
}

fn limit_name(limit: PortCeilingLimit) -> &'static str {
    match limit {
        PortCeilingLimit::PortRate => "port-rate",
        PortCeilingLimit::Pcie => "pcie",
    }
}

fn rdma_port(
    facts: &Facts,
    cage: Option<&str>,
    device: &RdmaDevice,
    port: &Port,
) -> ScannedRdmaPort {
    let netdev = port
        .netdev
        .known()
        .and_then(|name| facts.network.interface(name));
    let ceiling = port_ceiling(facts, device, port);
    ScannedRdmaPort {
        name: device.name.clone(),
        port: port.number,
        netdev: port.netdev.known().cloned(),
        pci: text(&device.pci),
        guid: text(&device.node_guid),
        firmware: device.firmware.known().cloned(),
        board: device.board.known().cloned(),
        software: device.software,
        state: text(&port.state),
        physical_state: text(&port.physical_state),
        link_layer: text(&port.link_layer),
        rate_gbps: port.rate.known().map(|rate| rate.0),
        mtu: netdev
            .and_then(|netdev| netdev.mtu.known())
            .map(|mtu| mtu.0),
        path_mtu: wire::path_mtu(facts, port).map(|mtu| mtu.0),
        gids: port
            .gids
            .iter()
            .map(|entry| ScannedGid {
                index: entry.index,
                gid: entry.gid.to_string(),
                kind: text(&entry.kind),
                netdev: entry.netdev.known().cloned(),
            })
            .collect(),
        addresses: netdev.map_or_else(Vec::new, addresses),
        pcie: pcie_of(facts, device),
        cage: cage.map(str::to_owned),
        ceiling_gbps: ceiling.map(|ceiling| ceiling.rate.rounded()),
        limit: ceiling.map(|ceiling| limit_name(ceiling.limit).to_owned()),
        user_queue_pairs: None,
    }
}

/// Queue pairs with a process behind them: the kernel's own (GSI, SMI) are always there.
struct Users {
    by_port: HashMap<u32, u32>,
    of_any_port: u32,
}

impl Users {
    fn of(device: &RdmaDevice) -> Option<Self> {
        let pairs = device.queue_pairs.known()?.iter();
        let mut users = Self {
            by_port: HashMap::new(),
            of_any_port: 0,
        };
        for pair in pairs.filter(|pair| pair.pid.is_some()) {
            match pair.port {
                Some(port) => *users.by_port.entry(port).or_default() += 1,
                None => users.of_any_port += 1,
            }
        }
        Some(users)
    }

    fn at(&self, port: u32) -> u32 {
        self.by_port.get(&port).copied().unwrap_or(0) + self.of_any_port
    }
}

fn pcie_of(facts: &Facts, device: &RdmaDevice) -> Option<ScannedPcie> {
    if device.software {
        return None;
    }
    let function = facts.pci_device(*device.pci.known()?)?;
    let narrowest = pcie::bottleneck(facts, function.address);
    Some(ScannedPcie {
        gt_per_s: function.link.speed.known().map(|speed| speed.0),
        width: function.link.width.known().copied(),
        max_width: function.link.max_width.known().copied(),
        gbps: narrowest.map(|link| link.rate.rounded()),
        narrowest: narrowest.map(|link| link.at.to_string()),
    })
}

fn cage(cage: &fabric::Cage) -> ScannedCage {
    ScannedCage {
        id: cage.id.clone(),
        members: cage
            .members
            .iter()
            .map(|member| member.device.clone())
            .collect(),
        active: cage.active,
        ceiling_gbps: cage.ceiling.map(|ceiling| ceiling.rate.rounded()),
        limit: cage
            .ceiling
            .map(|ceiling| limit_name(ceiling.limit).to_owned()),
        grouping: match cage.grouping {
            CageGrouping::Spec => "spec",
            CageGrouping::Driver => "driver",
            CageGrouping::Chip => "chip",
            CageGrouping::Alone => "alone",
        },
    }
}

fn gpu(gpu: &crosstie_model::facts::gpu::Gpu) -> ScannedGpu {
    ScannedGpu {
        name: gpu.name.clone(),
        pci: text(&gpu.pci),
        memory_bytes: gpu.memory.known().map(|bytes| bytes.0),
    }
}

fn addresses(interface: &net::Interface) -> Vec<String> {
    interface
        .addresses
        .iter()
        .map(|address| address.net.to_string())
        .collect()
}

fn interface(
    facts: &Facts,
    interface: &net::Interface,
    default_routes: &HashSet<&str>,
) -> ScannedInterface {
    let ssh = facts.network.ssh_address.known();
    ScannedInterface {
        name: interface.name.clone(),
        mac: text(&interface.mac),
        state: interface.operstate.known().cloned(),
        speed_mbps: interface.speed_mbps.known().copied(),
        mtu: interface.mtu.known().map(|mtu| mtu.0),
        addresses: addresses(interface),
        default_route: default_routes.contains(interface.name.as_str()),
        ssh: ssh.is_some_and(|ssh| interface.addresses.iter().any(|own| own.net.addr() == *ssh)),
        manager: interface.manager.name(),
    }
}

/// What decides whether RDMA and NCCL work, in the order in which one would ask.
fn drivers(facts: &Facts) -> Vec<ScannedDriver> {
    const MODULES: [&str; 5] = [
        "mlx5_core",
        "mlx5_ib",
        "rdma_rxe",
        "nvidia_peermem",
        "nv_peer_mem",
    ];
    let software = &facts.software;
    let paths = software.module_paths.known();
    let modules = MODULES.iter().filter_map(|name| {
        let module = software.module(name)?;
        let path = paths.and_then(|paths| paths.get(*name));
        Some(ScannedDriver {
            name: (*name).to_owned(),
            version: module.version.known().cloned(),
            kind: "module",
            origin: path.map(|path| {
                if path.starts_with("kernel/") {
                    "in-tree"
                } else {
                    "added"
                }
                .to_owned()
            }),
        })
    });
    let shown = facts.distribution().packages.shown.iter();
    let packages = shown.filter_map(|name| {
        let version = software.package(name)?.to_owned();
        Some(ScannedDriver {
            name: (*name).to_owned(),
            version: Some(version),
            kind: "package",
            origin: None,
        })
    });
    let libraries = software
        .libraries
        .iter()
        .filter(|library| library.name == "libnccl")
        .map(|library| ScannedDriver {
            name: library.name.clone(),
            version: library.version.known().cloned(),
            kind: "library",
            origin: Some(library.path.clone()),
        });
    modules.chain(packages).chain(libraries).collect()
}
