//! Addressing and MTU of RoCE ports.

mod address_duplicate;
mod arp_flux;
mod fabric_address_link_local;
mod fabric_not_persistent;
mod fabric_overlaps_lan;
mod fabric_unaddressed;
mod firewall_blocks_fabric;
mod fleet_differs;
mod gid_v2_missing;
mod management_on_fabric;
mod mtu_large;
mod mtu_mismatch;
mod mtu_small;
mod node_cloned;
mod roce_mode_v1;
mod subnet_mismatch;
mod twin_mtu_differs;
mod twin_unaddressed;
mod twins_same_subnet;
mod wrong_neighbour;

use super::CheckArea;

pub const AREA: CheckArea = CheckArea {
    title: "Addressing and MTU",
    checks: &[
        &mtu_small::CHECK,
        &mtu_large::CHECK,
        &twin_mtu_differs::CHECK,
        &mtu_mismatch::CHECK,
        &twins_same_subnet::CHECK,
        &arp_flux::CHECK,
        &wrong_neighbour::CHECK,
        &twin_unaddressed::CHECK,
        &fabric_unaddressed::CHECK,
        &fabric_address_link_local::CHECK,
        &fabric_not_persistent::CHECK,
        &fabric_overlaps_lan::CHECK,
        &management_on_fabric::CHECK,
        &gid_v2_missing::CHECK,
        &roce_mode_v1::CHECK,
        &firewall_blocks_fabric::CHECK,
        &subnet_mismatch::CHECK,
        &address_duplicate::CHECK,
        &node_cloned::CHECK,
        &fleet_differs::CHECK,
    ],
};
