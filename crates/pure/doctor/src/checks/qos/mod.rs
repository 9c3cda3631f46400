//! Quality of service for RoCE: only where a switch is proven, and where global pause does not do the work.

mod dscp_untrusted;
mod ecn_off;
mod pause_on_other_priority;
mod pfc_off;
mod pfc_wrong_priority;
mod traffic_class_unset;

use crosstie_model::facts::net::Interface;

use super::CheckArea;
use crate::{ExaminedNode, ExaminedPort, terms::roce};

pub const AREA: CheckArea = CheckArea {
    title: "RoCE QoS",
    checks: &[
        &pfc_off::CHECK,
        &pfc_wrong_priority::CHECK,
        &ecn_off::CHECK,
        &dscp_untrusted::CHECK,
        &traffic_class_unset::CHECK,
        &pause_on_other_priority::CHECK,
    ],
};

/// RoCE fabric ports on a switch, with their interfaces, where global pause is not known to be on.
fn switched<'n, 'a>(
    node: &'n ExaminedNode<'a>,
) -> impl Iterator<Item = (&'n ExaminedPort<'a>, &'a Interface)> {
    roce(node)
        .filter(|port| port.switched)
        .filter_map(|port| Some((port, port.netdev?)))
        .filter(|(_, netdev)| netdev.link.has_global_pause() != Some(true))
}

/// `3`, `3, 4` or `none`.
fn priorities(list: &[u8]) -> String {
    if list.is_empty() {
        return "none".to_owned();
    }
    crate::terms::listed(list.iter().map(ToString::to_string))
}
