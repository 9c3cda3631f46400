//! Measurements.

use super::Area;

pub const AREA: Area = Area {
    title: "Measurements",
    checks: &[],
};
