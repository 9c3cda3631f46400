//! NCCL settings.

use super::Area;

pub const AREA: Area = Area {
    title: "NCCL settings",
    checks: &[],
};
