//! Which processor a thread is pinned to.

use serde::{Deserialize, Serialize};

/// One that this process may run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processor {
    pub number: u32,
    pub numa_node: Option<u32>,
    /// Package and core; threads of one core have the same.
    pub core: (u32, u32),
    /// To compare with others of this machine: its capacity, or its highest frequency.
    pub speed: u64,
}

/// Where one of several threads runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadPlacement {
    /// `None` where nothing is known of the machine's processors.
    pub processor: Option<u32>,
    /// Whether it is on the card's NUMA node; `true` too where the card has none.
    pub near_card: bool,
    /// More threads than processors: each has to let the others run.
    pub is_short: bool,
}

/// The processor of thread `index` of `count` that run at once. The card's NUMA node first, one thread a core, the fastest
/// first. The machine's first processor comes last among equals: it is the one that most interrupts go to.
pub fn place(
    processors: &[Processor],
    card_node: Option<u32>,
    index: usize,
    count: usize,
) -> ThreadPlacement {
    let is_near = |one: &Processor| {
        card_node.is_none() || one.numa_node.is_none() || one.numa_node == card_node
    };
    let mut ordered: Vec<(&Processor, usize)> = processors
        .iter()
        .map(|one| {
            let before = |other: &&Processor| other.core == one.core && other.number < one.number;
            (one, processors.iter().filter(before).count())
        })
        .collect();
    ordered.sort_by_key(|(one, sibling)| {
        let is_first = one.number == 0;
        let speed = std::cmp::Reverse(one.speed);
        (!is_near(one), *sibling, speed, is_first, one.number)
    });
    let chosen = index
        .checked_rem(ordered.len())
        .map(|place| ordered[place].0);
    ThreadPlacement {
        processor: chosen.map(|one| one.number),
        near_card: chosen.is_none_or(is_near),
        is_short: !processors.is_empty() && processors.len() < count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processor(number: u32, numa_node: u32, core: u32, speed: u64) -> Processor {
        Processor {
            number,
            numa_node: Some(numa_node),
            core: (numa_node, core),
            speed,
        }
    }

    fn order(processors: &[Processor], card_node: Option<u32>) -> Vec<u32> {
        let count = processors.len();
        (0..count)
            .filter_map(|index| place(processors, card_node, index, count).processor)
            .collect()
    }

    /// GB10: ten Cortex-X925 and ten Cortex-A725, told apart by their frequency; one NUMA node.
    #[test]
    fn the_big_cores_come_first() {
        let big = |number: u32| (5..10).contains(&number) || (15..20).contains(&number);
        let speed = |number| if big(number) { 3_900_000 } else { 2_808_000 };
        let processors: Vec<Processor> = (0..20)
            .map(|number| processor(number, 0, number, speed(number)))
            .collect();
        let order = order(&processors, None);
        assert_eq!(order[..10], [5, 6, 7, 8, 9, 15, 16, 17, 18, 19]);
        assert_eq!(
            order[10..],
            [1, 2, 3, 4, 10, 11, 12, 13, 14, 0],
            "interrupts go to 0"
        );
    }

    #[test]
    fn the_cards_numa_node_comes_before_speed_and_a_core_of_ones_own_before_both_threads() {
        // Two sockets of two cores with two threads each; the far one is faster.
        let processors = [
            processor(0, 0, 0, 100),
            processor(1, 1, 0, 200),
            processor(2, 0, 1, 100),
            processor(3, 1, 1, 200),
            processor(4, 0, 0, 100),
            processor(5, 1, 0, 200),
            processor(6, 0, 1, 100),
            processor(7, 1, 1, 200),
        ];
        assert_eq!(order(&processors, Some(0)), [2, 0, 4, 6, 1, 3, 5, 7]);
        assert!(place(&processors, Some(0), 3, 5).near_card);
        assert!(!place(&processors, Some(0), 4, 5).near_card);
        // Cards of virtual machines, and most workstations, have none.
        assert_eq!(order(&processors, None)[..4], [1, 3, 2, 0]);
    }

    #[test]
    fn fewer_processors_than_threads_are_shared_and_that_is_told() {
        let two = [processor(0, 0, 0, 1), processor(1, 0, 1, 1)];
        let at = |index, count| place(&two, None, index, count);
        assert_eq!(
            at(0, 2),
            ThreadPlacement {
                processor: Some(1),
                near_card: true,
                is_short: false
            }
        );
        assert_eq!((at(2, 3).processor, at(2, 3).is_short), (Some(1), true));
        let unknown = place(&[], Some(1), 0, 1);
        assert_eq!((unknown.processor, unknown.is_short), (None, false));
    }

    #[test]
    fn a_mask_that_leaves_one_processor_is_kept_to() {
        let one = [processor(13, 0, 3, 1)];
        assert_eq!(place(&one, Some(4), 0, 1).processor, Some(13));
        assert!(!place(&one, Some(4), 0, 1).near_card);
    }
}
