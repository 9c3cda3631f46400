use std::{collections::HashSet, time::Instant};

use proptest::prelude::*;

use super::*;

fn every_pair(ports: usize) -> Vec<PortPair> {
    let from = 0..ports;
    from.flat_map(|a| (a + 1..ports).map(move |b| (a, b)))
        .collect()
}

fn check(shared: &[SharedResources], pairs: &[PortPair], rounds: &[Vec<usize>]) {
    let mut seen = HashSet::new();
    for round in rounds {
        let mut ports = HashSet::new();
        let mut resources = HashSet::new();
        for pair in round {
            assert!(seen.insert(*pair), "pair {pair} twice");
            let (a, b) = pairs[*pair];
            assert!(
                ports.insert(a) && ports.insert(b),
                "a port twice in a round"
            );
            // Two ends of one test may share a cable with each other.
            let own: HashSet<u32> = [a, b]
                .iter()
                .flat_map(|port| &shared[*port].0)
                .copied()
                .collect();
            for resource in own {
                assert!(resources.insert(resource), "a resource twice in a round");
            }
        }
    }
    assert_eq!(seen.len(), pairs.len(), "every pair is in a round");
}

#[test]
fn everybody_meets_everybody_in_the_fewest_rounds() {
    for ports in [2, 3, 4, 5, 8, 9, 33, 64] {
        let shared = vec![SharedResources::default(); ports];
        let pairs = every_pair(ports);
        let rounds = rounds(&shared, &pairs);
        check(&shared, &pairs, &rounds);
        assert_eq!(rounds.len(), if ports % 2 == 0 { ports - 1 } else { ports });
    }
}

#[test]
fn twins_of_one_cable_take_turns_and_separate_cables_do_not() {
    let pairs = [(0, 1), (2, 3)];
    let twins = vec![SharedResources(vec![7]); 4];
    assert_eq!(rounds(&twins, &pairs).len(), 2);
    let apart = [7, 7, 8, 8].map(|cable| SharedResources(vec![cable]));
    let rounds = rounds(&apart, &pairs);
    assert_eq!(rounds, [[0, 1]]);
}

#[test]
fn a_ring_takes_two_rounds_or_three() {
    for nodes in 3..9_usize {
        // Two ports a node: one to each neighbour. The node's PCIe link is shared by both.
        let shared: Vec<SharedResources> = (0..nodes * 2)
            .map(|port| SharedResources(vec![u32::try_from(port / 2).unwrap()]))
            .collect();
        let pairs: Vec<PortPair> = (0..nodes)
            .map(|node| (node * 2, (node + 1) % nodes * 2 + 1))
            .collect();
        let rounds = rounds(&shared, &pairs);
        check(&shared, &pairs, &rounds);
        assert!(rounds.len() <= 3, "{nodes}: {}", rounds.len());
    }
}

#[test]
fn a_thousand_nodes_are_scheduled_at_once() {
    let shared: Vec<SharedResources> = (0..1024).map(|port| SharedResources(vec![port])).collect();
    let pairs = every_pair(1024);
    let started = Instant::now();
    let rounds = rounds(&shared, &pairs);
    let took = started.elapsed();
    assert_eq!(rounds.len(), 1023);
    // A speed is no test; that it is no matter of minutes is.
    assert!(took.as_secs() < 20, "{took:?}");
}

proptest! {
    #[test]
    fn no_resource_is_used_twice_in_a_round(
        ports in prop::collection::vec(prop::collection::vec(0_u32..12, 0..3), 2..40),
        wanted in prop::collection::vec((0_usize..40, 0_usize..40), 0..200),
    ) {
        let shared: Vec<SharedResources> = ports.into_iter().map(SharedResources).collect();
        let count = shared.len();
        let mut pairs: Vec<PortPair> = wanted.into_iter().map(|(a, b)| (a % count, b % count)).collect();
        pairs.retain(|(a, b)| a != b);
        check(&shared, &pairs, &rounds(&shared, &pairs));
    }
}
