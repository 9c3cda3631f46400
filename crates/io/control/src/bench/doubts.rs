//! Why to hesitate over figures.

use crosstie_agent::RdmaEndPlacement;
use crosstie_fabric::rails::{Rail, RailEnd};
use crosstie_model::Facts;

/// Of the devices.
pub(super) fn of_devices(facts: &[&Facts; 2], rails: &[Rail]) -> Vec<String> {
    let is_software = |facts: &Facts, end: &RailEnd| {
        let mut devices = facts.rdma.iter();
        devices.any(|device| device.name == end.device && device.software)
    };
    let [near, far] = facts;
    let mut rails = rails.iter();
    if rails.any(|rail| is_software(near, &rail.near) || is_software(far, &rail.far)) {
        let text = "Soft-RoCE: these are figures of processors, not of cards";
        return vec![text.to_owned()];
    }
    Vec::new()
}

/// Of what an end ran with.
pub(crate) fn of_conditions(node: &str, conditions: &RdmaEndPlacement) -> Vec<String> {
    let RdmaEndPlacement {
        placement,
        is_pinned,
        memory_cap,
    } = conditions;
    let mut doubts = Vec::new();
    if placement.is_short {
        doubts.push(format!(
            "{node}: fewer processors than tests at once: they took turns, at lower priority"
        ));
    }
    if !placement.near_card {
        doubts.push(format!(
            "{node}: no processor left on the card's NUMA node: a thread ran on another"
        ));
    }
    // Nobody wants to pin a thread that works with Soft-RoCE.
    if !is_pinned && placement.processor.is_some() {
        doubts.push(format!(
            "{node}: the thread that measures could not be pinned to a processor"
        ));
    }
    if let Some(cap) = memory_cap {
        let (asked, granted, limit) = (cap.asked, cap.granted, cap.budget.limit);
        doubts.push(format!(
            "{node}: messages of {granted} bytes instead of {asked}: buffers may take {} bytes, by {limit}",
            cap.budget.bytes
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use crosstie_fabric::placement::{MemoryBudget, MemoryLimit, ThreadPlacement};
    use crosstie_rdma::MemoryCap;

    use super::*;

    #[test]
    fn what_an_end_lacked_is_told() {
        let mut conditions = RdmaEndPlacement {
            placement: ThreadPlacement {
                processor: Some(3),
                near_card: true,
                is_short: false,
            },
            is_pinned: true,
            memory_cap: None,
        };
        assert_eq!(of_conditions("spark-a", &conditions), [""; 0]);
        conditions.placement.is_short = true;
        conditions.memory_cap = Some(MemoryCap {
            asked: 1 << 20,
            granted: 1 << 15,
            budget: MemoryBudget {
                bytes: 100_000,
                limit: MemoryLimit::Free,
            },
        });
        let doubts = of_conditions("spark-a", &conditions);
        assert_eq!(
            doubts,
            [
                "spark-a: fewer processors than tests at once: they took turns, at lower priority",
                "spark-a: messages of 32768 bytes instead of 1048576: buffers may take 100000 bytes, by half of the free memory",
            ]
        );
    }
}
