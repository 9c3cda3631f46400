//! The PCIe path of a port is narrower than its cable.

use crosstie_fabric::pcie::{PcieBottleneck, bottleneck, combined_rate};
use crosstie_model::{Gbps, PciAddress};

use super::{file, speed_reduced, width_reduced};
use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, ExaminedPort, explains, word,
};

pub(super) const CHECK: Check = Check {
    id: "pcie-below-port-rate",
    title: "The PCIe link behind a port carries less than the port itself",
    severity: "warning",
    fires: "The narrowest PCIe link between an active fabric port and the root carries less than the port's rate, and no \
        active twin of the same cage makes up for it. A link that runs below what its slot allows is reported as that \
        instead.",
    reads: &[
        "/sys/bus/pci/devices/ADDRESS/current_link_speed",
        "/sys/bus/pci/devices/ADDRESS/current_link_width",
        "/sys/class/infiniband/DEVICE/ports/PORT/rate",
    ],
    cause: "a slot with too few lanes or of an older generation, or one that hangs off the chipset",
    meaning: "Every byte that a port sends crosses each PCIe link from the card up to the processor, and the narrowest \
        of them is what counts. A 100 Gb/s port behind Gen3 x8 gets about 56 Gb/s, however good the cable is.\n\n\
        A DGX Spark serves each 200 Gb/s cage by two functions on Gen5 x4 links, about 113 Gb/s each. That is no \
        fault: both twins together fill the cable, so this is silent as long as both are active.",
    fix: "Move the card to a slot that is wired to the processor and has at least as many lanes, of at least the same \
        generation, as the card.",
    verify: "The narrowest link that `crosstie scan` shows for the port carries more than the port's rate.",
    explained_by: &[explains("twin-down", CauseScope::Cage)],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let active = |port: &&ExaminedPort| port.port.is_active() && !port.device.software;
    let mut ports: Vec<&ExaminedPort> = node.fabric.iter().filter(active).collect();
    // One port stands for its cage: what the twins carry counts together.
    ports.dedup_by_key(|port| port.cage);
    ports
        .into_iter()
        .filter_map(|port| {
            let rate = *port.port.rate.known()?;
            let members = node.members(port.cage);
            let active = members.filter(|(_, member)| member.is_active());
            // A twin whose links are unknown may well make up for it.
            let functions: Option<Vec<PciAddress>> = active
                .map(|(device, _)| device.pci.known().copied())
                .collect();
            let functions = functions?;
            let carried = combined_rate(node.facts, &functions)?;
            let narrowest = bottleneck(node.facts, *port.device.pci.known()?)?;
            let short = carried < rate && !functions.iter().any(|at| is_reduced(node, *at));
            short.then(|| hit(node, port, rate, carried, narrowest))
        })
        .collect()
}

/// A link that trained below its slot is a fault of its own, and no matter of the slot.
fn is_reduced(node: &ExaminedNode, function: PciAddress) -> bool {
    node.facts.pci_device(function).is_some_and(|card| {
        width_reduced::reduced(node, card).is_some() || speed_reduced::reduced(node, card).is_some()
    })
}

fn hit(
    node: &ExaminedNode,
    port: &ExaminedPort,
    rate: Gbps,
    carried: Gbps,
    narrowest: PcieBottleneck,
) -> CheckHit {
    let link = format!(
        "{} x{} at {}, about {}",
        narrowest.speed, narrowest.width, narrowest.at, narrowest.rate
    );
    let function = port
        .function
        .map_or_else(|| port.label().to_owned(), |card| card.address.to_string());
    let hit = CheckHit::warning(function)
        .saw("rate of the port", rate, port.file("rate"))
        .saw(
            "narrowest PCIe link above it",
            link,
            file(narrowest.at, "current_link_width"),
        )
        .saw(
            "what the active functions of the cage carry together",
            carried,
            file(narrowest.at, "current_link_speed"),
        );
    let idle = node.twins(port).find(|(_, twin)| !twin.is_active());
    match idle {
        Some((device, twin)) => {
            let name = twin.netdev.known().unwrap_or(&device.name);
            hit.cause(format!(
                "its twin {name} on another PCIe link is not active"
            ))
            .advice("Bring the twin up: the two links fill the cable together.")
            .command(format!("sudo ip link set dev {} up", word(name)))
        }
        None => hit,
    }
}
