//! A card is there, and the kernel offers no RDMA device for it.

use crosstie_model::{PciAddress, facts::PciDevice};

use super::{super::bond::bond_above, container, has_module};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, is_nvidia_nic};

pub(super) const CHECK: Check = Check {
    id: "rdma-driver-missing",
    title: "The card has no RDMA device",
    severity: "fault",
    fires: "A network card of PCI vendor 0x15b3 exists (no virtual function, not given away by vfio-pci), and no device \
        under `/sys/class/infiniband` belongs to it. A port that RoCE LAG joined to its neighbour is left alone.",
    reads: &[
        "/sys/bus/pci/devices/ADDRESS/{vendor,class,driver}",
        "/sys/class/infiniband/*/device",
        "/sys/module/{mlx5_core,mlx5_ib}",
    ],
    cause: "the card's driver or its RDMA half is not loaded",
    meaning: "A ConnectX card needs two modules: `mlx5_core` drives the card and its network interfaces, `mlx5_ib` adds \
        RDMA. Without the second one everything looks like an ordinary Ethernet card, ping works, and NCCL goes over \
        TCP. Ubuntu keeps the RDMA modules in a package of their own that minimal images lack.",
    fix: "Install the modules for the running kernel, load them, and have them loaded at every start.",
    verify: "`rdma link` lists the card's ports.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let cards = node.facts.pci.iter();
    let mut missing: Vec<&PciDevice> = cards
        .filter(|card| is_nvidia_nic(card) && !card.is_virtual_function())
        .filter(|card| {
            card.driver
                .known()
                .is_none_or(|driver| driver != "vfio-pci")
        })
        .filter(|card| !node.index.has_rdma(card.address))
        .filter(|card| !is_joined(node, card))
        .collect();
    missing.dedup_by_key(|card| slot(card.address));
    missing.into_iter().map(|card| hit(node, card)).collect()
}

fn slot(address: PciAddress) -> PciAddress {
    PciAddress {
        function: 0,
        ..address
    }
}

/// RoCE LAG gives two ports of a card one RDMA device, which belongs to the first.
fn is_joined(node: &ExaminedNode, card: &PciDevice) -> bool {
    let mut interfaces = node.index.interfaces_of(card.address).iter();
    let bonded = interfaces.any(|interface| bond_above(&node.facts.network, interface).is_some());
    bonded && node.index.slot_has_rdma(card.address)
}

fn hit(node: &ExaminedNode, card: &PciDevice) -> CheckHit {
    // ConnectX-3 and older have drivers of their own.
    let old = card
        .driver
        .known()
        .is_some_and(|driver| driver == "mlx4_core");
    let (core, rdma) = if old {
        ("mlx4_core", "mlx4_ib")
    } else {
        ("mlx5_core", "mlx5_ib")
    };
    let driver = card.driver.known().map_or("none", String::as_str);
    let mut hit = CheckHit::fault(card.address)
        .saw(
            "driver of the card",
            driver,
            format!("/sys/bus/pci/devices/{}/driver", card.address),
        )
        .saw("RDMA devices of the card", "none", "/sys/class/infiniband");
    for module in [core, rdma] {
        let loaded = match has_module(node, module) {
            Some(true) => "loaded",
            Some(false) => "not loaded",
            None => continue,
        };
        hit = hit.saw(
            format!("module {module}"),
            loaded,
            format!("/sys/module/{module}"),
        );
    }
    let bound = driver == core && has_module(node, rdma) == Some(true);
    match (bound, container(node)) {
        (true, Some(kind)) => hit
            .cause(format!("this {kind} container does not see the host's RDMA devices"))
            .advice("Start the container with the host's network and `--device /dev/infiniband`."),
        (true, None) => hit
            .cause("both modules are loaded, and RDMA is switched off for this function")
            .advice("See whether RoCE is switched off on the function; switch it on and load the function again.")
            .command(format!("devlink dev param show pci/{} name enable_roce", card.address)),
        (false, _) => load(node, hit, core, rdma),
    }
}

fn load(node: &ExaminedNode, hit: CheckHit, core: &str, rdma: &str) -> CheckHit {
    let paths = node.facts.software.module_paths.known();
    let lacking = paths.is_some_and(|paths| !paths.contains_key(rdma));
    let distribution = node.facts.distribution();
    let hit = match distribution.packages.rdma_modules {
        Some(package) if lacking => hit
            .saw(
                format!("where {rdma} would be loaded from"),
                "nowhere",
                "/lib/modules/RELEASE/modules.dep",
            )
            .command(distribution.install_typed(&[package])),
        _ => hit,
    };
    hit.command(format!("sudo modprobe -a {core} {rdma}"))
        .command(format!(
            r"printf '%s\n' {core} {rdma} | sudo tee {}/rdma-card.conf",
            distribution.folders.modules
        ))
}
