//! The catalogue: one module an area, one file a check.

pub mod addressing;
mod bond;
pub mod drivers;
mod kernel_log;
pub mod link;
pub mod log;
pub mod measured;
pub mod nccl;
pub mod pcie;
pub mod qos;

use crate::Check;

/// An area of the catalogue and its checks, in the order in which people should look at them.
pub struct CheckArea {
    pub title: &'static str,
    pub checks: &'static [&'static Check],
}

pub const AREAS: &[CheckArea] = &[
    pcie::AREA,
    drivers::AREA,
    link::AREA,
    addressing::AREA,
    qos::AREA,
    nccl::AREA,
    log::AREA,
    measured::AREA,
];

pub fn all() -> impl Iterator<Item = &'static Check> {
    AREAS.iter().flat_map(|area| area.checks.iter().copied())
}

pub fn find(id: &str) -> Option<&'static Check> {
    all().find(|check| check.id == id)
}
