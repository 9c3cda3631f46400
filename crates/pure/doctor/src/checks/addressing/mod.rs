//! Addressing and MTU.

use super::Area;

pub const AREA: Area = Area {
    title: "Addressing and MTU",
    checks: &[],
};
