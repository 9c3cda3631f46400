//! Link.

use super::Area;

pub const AREA: Area = Area {
    title: "Link",
    checks: &[],
};
