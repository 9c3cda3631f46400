//! Why to hesitate over figures.

use crosstie_fabric::rails::{Rail, RailEnd};
use crosstie_model::Facts;

pub(super) fn doubts(facts: &[&Facts; 2], rails: &[Rail]) -> Vec<String> {
    let mut software = facts.iter().zip([false, true]).flat_map(|(facts, is_far)| {
        let ends = rails
            .iter()
            .map(move |rail| if is_far { &rail.far } else { &rail.near });
        let devices = |end: &RailEnd| {
            let mut devices = facts.rdma.iter();
            devices.any(|device| device.name == end.device && device.software)
        };
        ends.map(devices).collect::<Vec<bool>>()
    });
    if software.any(|is_software| is_software) {
        let text = "Soft-RoCE: these are figures of processors, not of cards";
        return vec![text.to_owned()];
    }
    Vec::new()
}
