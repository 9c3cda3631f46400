//! RoCE quality of service.

use super::Area;

pub const AREA: Area = Area {
    title: "RoCE quality of service",
    checks: &[],
};
