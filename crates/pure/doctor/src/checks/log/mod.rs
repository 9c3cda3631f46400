//! NCCL logs.

use super::Area;

pub const AREA: Area = Area {
    title: "NCCL logs",
    checks: &[],
};
