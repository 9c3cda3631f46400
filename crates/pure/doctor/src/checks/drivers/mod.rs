//! Drivers and user space.

use super::Area;

pub const AREA: Area = Area {
    title: "Drivers and user space",
    checks: &[],
};
