//! The card's PCIe link runs at a lower speed than both ends support.

use crosstie_model::{
    PciAddress,
    facts::{PciDevice, pci::LinkSpeed},
};

use super::{cards, file, one_a_link, soldered};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "pcie-speed-reduced",
    title: "The card's PCIe link runs slower than it and its slot support",
    severity: "fault",
    fires: "A network card's `current_link_speed` is below both its own `max_link_speed` and that of the port above it.",
    reads: &[
        "/sys/bus/pci/devices/ADDRESS/current_link_speed",
        "/sys/bus/pci/devices/ADDRESS/max_link_speed",
    ],
    cause: "a link speed set in the firmware setup, or a signal so poor that the link fell back to a slower generation",
    meaning: "Each PCIe generation doubles the speed of a lane. The two ends train at the highest speed that both know \
        and that the signal allows. A Gen4 card that came up at Gen3 works, with half its bandwidth, and nothing but \
        this file says so.",
    fix: "In the firmware setup set the slot's link speed to Auto (or to the card's own generation) and switch ASPM off \
        for it. If it stays slow, power off and seat the card again, without a riser.",
    verify: "After the next start `current_link_speed` equals the smaller of the two `max_link_speed` values.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    one_a_link(cards(node).filter_map(|card| {
        let ReducedSpeed {
            now,
            own,
            above,
            at,
        } = reduced(node, card)?;
        let shown = |speed: LinkSpeed| format!("{} GT/s a lane ({speed})", speed.0);
        let hit = CheckHit::fault(card.address)
            .saw(
                "speed in use",
                shown(now),
                file(card.address, "current_link_speed"),
            )
            .saw(
                "speed of the card",
                shown(own),
                file(card.address, "max_link_speed"),
            )
            .saw(
                "speed of the port above it",
                shown(above),
                file(at, "max_link_speed"),
            );
        Some((card.address, soldered(node, hit)))
    }))
}

pub(super) struct ReducedSpeed {
    now: LinkSpeed,
    own: LinkSpeed,
    above: LinkSpeed,
    /// The port above the card.
    at: PciAddress,
}

pub(super) fn reduced(node: &ExaminedNode, card: &PciDevice) -> Option<ReducedSpeed> {
    let now = *card.link.speed.known()?;
    let own = *card.link.max_speed.known()?;
    let slot = node.facts.pci_device(*card.upstream.first()?)?;
    let above = *slot.link.max_speed.known()?;
    let at = slot.address;
    (now < own && now < above).then_some(ReducedSpeed {
        now,
        own,
        above,
        at,
    })
}
