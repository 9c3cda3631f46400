//! The card trained fewer PCIe lanes than both it and its slot support.

use crosstie_model::{PciAddress, facts::PciDevice};

use super::{cards, file, one_a_link, soldered};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "pcie-width-reduced",
    title: "The card runs on fewer PCIe lanes than it and its slot support",
    severity: "fault",
    fires: "A network card's `current_link_width` is below both its own `max_link_width` and that of the port above it.",
    reads: &[
        "/sys/bus/pci/devices/ADDRESS/current_link_width",
        "/sys/bus/pci/devices/ADDRESS/max_link_width",
    ],
    cause: "bad seating, a riser, or a slot that firmware splits between cards",
    meaning: "Lanes are trained when the machine starts. A card that came up with fewer of them works, but carries only \
        that share of its bandwidth: x8 instead of x16 halves it.",
    fix: "Power off, seat the card again (without the riser, if there is one), and compare the slot's bifurcation \
        setting in the firmware setup with what the card needs.",
    verify: "After the next start `current_link_width` equals the smaller of the two `max_link_width` values.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    one_a_link(cards(node).filter_map(|card| {
        let ReducedWidth { now, own, able, at } = reduced(node, card)?;
        let hit = CheckHit::fault(card.address)
            .saw(
                "lanes in use",
                now,
                file(card.address, "current_link_width"),
            )
            .saw(
                "lanes of the card",
                own,
                file(card.address, "max_link_width"),
            )
            .saw("lanes that both can use", able, file(at, "max_link_width"));
        Some((card.address, soldered(node, hit)))
    }))
}

pub(super) struct ReducedWidth {
    now: u32,
    own: u32,
    able: u32,
    /// The port above the card.
    at: PciAddress,
}

pub(super) fn reduced(node: &ExaminedNode, card: &PciDevice) -> Option<ReducedWidth> {
    // An unreadable width is a gap in the facts, not a fault of the card.
    let now = *card.link.width.known()?;
    let own = *card.link.max_width.known()?;
    let slot = node.facts.pci_device(*card.upstream.first()?)?;
    let able = own.min(*slot.link.max_width.known()?);
    let at = slot.address;
    (now < able).then_some(ReducedWidth { now, own, able, at })
}
