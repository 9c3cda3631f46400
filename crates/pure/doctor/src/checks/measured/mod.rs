//! Measurements.

mod asymmetric_pair;
mod bandwidth_below_ceiling;
mod bandwidth_unsteady;
mod collective_below_pairs;
mod fabric_contended;
mod gpu_path_slow;
mod gpu_path_staged;
mod latency_high;
mod link_errors_growing;
mod node_slow;
mod optics_degraded;
mod pair_slow;
mod path_loses_packets;
mod rail_idle;

use super::CheckArea;

pub const AREA: CheckArea = CheckArea {
    title: "Measurements",
    checks: &[
        &bandwidth_below_ceiling::CHECK,
        &latency_high::CHECK,
        &asymmetric_pair::CHECK,
        &node_slow::CHECK,
        &pair_slow::CHECK,
        &fabric_contended::CHECK,
        &rail_idle::CHECK,
        &gpu_path_slow::CHECK,
        &gpu_path_staged::CHECK,
        &collective_below_pairs::CHECK,
        &path_loses_packets::CHECK,
        &bandwidth_unsteady::CHECK,
        &link_errors_growing::CHECK,
        &optics_degraded::CHECK,
    ],
};
