//! PCIe and the card.

mod width_reduced;

use super::Area;

pub const AREA: Area = Area {
    title: "PCIe and the card",
    checks: &[&width_reduced::CHECK],
};
