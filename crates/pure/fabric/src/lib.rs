//! What the facts of a node mean for the fabric: cages, what physics allows through each, and which interfaces are
//! for management.
//!
//! A **cage** is where a cable goes in. A DGX Spark shows four RDMA devices and has two cages: each cage is served by
//! two functions, *twins*, on separate PCI Express links. Counting interfaces instead of cages is how people end up
//! with half the bandwidth.

pub mod cabling;
pub mod cage;
pub mod ceiling;
pub mod comparison_tools;
pub mod init;
pub mod ip_rails;
pub mod management;
pub mod nccl;
pub mod pcie;
pub mod placement;
pub mod rails;
pub mod wire;

pub use cage::{Cage, CageGrouping, PortId, cages, is_meant};
pub use ceiling::{PortCeiling, PortCeilingLimit, port_ceiling};
pub use management::{ManagementInterfaces, carries_management, management};
