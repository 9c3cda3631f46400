//! Seconds for the rounds in which every pair of so many nodes is tested: on one switch, where nothing is shared, and with two
//! rails whose ports share a cable. `schedule NODES`; `scripts/bench schedule` runs it.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types
)] // a program, and it measures time

use std::time::Instant;

use crosstie_grade::schedule::{PortPair, SharedResources, rounds};

fn main() {
    let nodes = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let nodes: usize = nodes.unwrap_or(1024);
    let switch = (
        vec![SharedResources::default(); nodes],
        every_pair(0, nodes),
    );
    // Rail 0 of all nodes, then rail 1; a node's two ports have one cable.
    let cables = (0..2 * nodes).map(|port| SharedResources(vec![number(port % nodes)]));
    let mut both = every_pair(0, nodes);
    both.extend(every_pair(nodes, nodes));
    let twins = (cables.collect::<Vec<SharedResources>>(), both);
    let timed = [switch, twins].map(|(shared, pairs)| {
        let began = Instant::now();
        let found = rounds(&shared, &pairs);
        let seconds = began.elapsed().as_secs_f64();
        let tested: usize = found.iter().map(Vec::len).sum();
        assert_eq!(tested, pairs.len(), "every pair is in a round");
        format!(
            "{{\"seconds\":{seconds},\"pairs\":{tested},\"rounds\":{}}}",
            found.len()
        )
    });
    let [switch, twins] = timed;
    println!("{{\"nodes\":{nodes},\"switch\":{switch},\"twins\":{twins}}}");
}

fn every_pair(first: usize, ports: usize) -> Vec<PortPair> {
    let from = 0..ports;
    from.flat_map(|a| (a + 1..ports).map(move |b| (first + a, first + b)))
        .collect()
}

fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
