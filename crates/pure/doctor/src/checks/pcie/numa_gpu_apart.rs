//! A GPU has no fabric card on its own socket.

use std::collections::BTreeMap;

use crosstie_model::facts::PciDevice;

use super::file;
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "numa-gpu-apart",
    title: "A GPU and every fabric card are on different NUMA nodes",
    severity: "warning",
    fires: "The NUMA node of a GPU is known, that of every fabric card is known, and no card is on the GPU's.",
    reads: &["/sys/bus/pci/devices/ADDRESS/numa_node"],
    cause: "the card sits in a slot of the other processor",
    meaning: "What the GPU sends has to cross the link between the processors before it reaches the card. GPUDirect RDMA \
        is slow or refused that way, and NCCL may stage the data in host memory instead.",
    fix: "Move the card, or the GPU, to a slot of the same processor; `nvidia-smi topo -m` shows which belong together. \
        If that cannot be done, pin each rank to the processor of its GPU.",
    verify: "`numa_node` of the GPU and of a card are the same number.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let functions: Option<Vec<(&PciDevice, u32)>> = node
        .fabric
        .iter()
        .filter(|port| !port.device.software)
        .map(|port| place(port.function?))
        .collect();
    // One card of unknown place may be beside every GPU.
    let Some(functions) = functions.filter(|functions| !functions.is_empty()) else {
        return Vec::new();
    };
    let gpus = node.facts.gpus.iter();
    let gpus = gpus.filter_map(|gpu| place(node.facts.pci_device(*gpu.pci.known()?)?));
    let mut apart: BTreeMap<u32, Vec<&PciDevice>> = BTreeMap::new();
    for (gpu, place) in gpus {
        if functions.iter().all(|(_, card)| *card != place) {
            apart.entry(place).or_default().push(gpu);
        }
    }
    let mut cards = functions;
    cards.sort_by_key(|(card, _)| card.address);
    cards.dedup_by_key(|(card, _)| card.address);
    apart
        .into_iter()
        .map(|(place, gpus)| {
            let names: Vec<String> = gpus.iter().map(|gpu| gpu.address.to_string()).collect();
            let hit = CheckHit::warning(names.join(", "));
            let hit = gpus.iter().fold(hit, |hit, gpu| {
                hit.saw(
                    format!("NUMA node of GPU {}", gpu.address),
                    place,
                    file(gpu.address, "numa_node"),
                )
            });
            cards.iter().fold(hit, |hit, (card, place)| {
                hit.saw(
                    format!("NUMA node of card {}", card.address),
                    place,
                    file(card.address, "numa_node"),
                )
            })
        })
        .collect()
}

fn place(device: &PciDevice) -> Option<(&PciDevice, u32)> {
    let place = (*device.numa_node.known()?)?;
    Some((device, place))
}
