//! Quick mode: every port once, then the suspects against ports that passed.

use std::collections::{BTreeSet, HashSet};

use super::TestEndTable;
use crate::schedule::PortPair;

/// Ports and resources that are taken in one round.
#[derive(Default)]
struct Taken {
    ports: HashSet<usize>,
    resources: HashSet<u32>,
}

impl Taken {
    fn is_free(&self, board: &TestEndTable, port: usize) -> bool {
        let mut resources = board.shared[port].0.iter();
        !self.ports.contains(&port) && resources.all(|one| !self.resources.contains(one))
    }

    fn take(&mut self, board: &TestEndTable, (a, b): PortPair) {
        for port in [a, b] {
            self.ports.insert(port);
            self.resources.extend(&board.shared[port].0);
        }
    }
}

fn may_meet(board: &TestEndTable, alive: &dyn Fn(usize) -> bool, a: usize, b: usize) -> bool {
    board.nodes[a] != board.nodes[b] && alive(a) && alive(b)
}

/// Rounds in which every port that has a partner takes part at least once.
pub(super) fn matchings(board: &TestEndTable, alive: &dyn Fn(usize) -> bool) -> Vec<Vec<PortPair>> {
    let mut waiting: BTreeSet<usize> = (0..board.ends.len()).filter(|port| alive(*port)).collect();
    let mut rounds = Vec::new();
    loop {
        let mut taken = Taken::default();
        let mut round: Vec<PortPair> = Vec::new();
        for group in &board.groups {
            let mut open: Option<usize> = None;
            for port in group.iter().copied().filter(|port| waiting.contains(port)) {
                match open {
                    _ if !taken.is_free(board, port) => {}
                    Some(other)
                        if taken.is_free(board, other) && may_meet(board, alive, other, port) =>
                    {
                        taken.take(board, (other, port));
                        round.push((other, port));
                        open = None;
                    }
                    _ => open = Some(port),
                }
            }
            // Whoever is left over gets a partner that was tested before.
            if let Some(port) = open.filter(|port| taken.is_free(board, *port)) {
                let mut partners = group.iter().copied();
                let partner = partners.find(|other| {
                    taken.is_free(board, *other) && may_meet(board, alive, *other, port)
                });
                if let Some(partner) = partner {
                    taken.take(board, (port, partner));
                    round.push((port, partner));
                }
            }
        }
        for (a, b) in &round {
            waiting.remove(a);
            waiting.remove(b);
        }
        if round.is_empty() {
            return rounds;
        }
        rounds.push(round);
    }
}

/// One round of suspects, each with a port of its own that passed. Those that find none stay for the next.
pub(super) fn suspects(
    board: &TestEndTable,
    alive: &dyn Fn(usize) -> bool,
    suspects: &BTreeSet<usize>,
    passed: &BTreeSet<usize>,
) -> Vec<PortPair> {
    let mut taken = Taken::default();
    let mut round = Vec::new();
    for group in &board.groups {
        let mut partners: Vec<usize> = group
            .iter()
            .copied()
            .filter(|port| passed.contains(port))
            .collect();
        for suspect in group.iter().copied().filter(|port| suspects.contains(port)) {
            if !taken.is_free(board, suspect) {
                continue;
            }
            let found = partners.iter().rposition(|partner| {
                taken.is_free(board, *partner) && may_meet(board, alive, *partner, suspect)
            });
            if let Some(at) = found {
                let partner = partners.remove(at);
                taken.take(board, (suspect, partner));
                round.push((suspect, partner));
            }
        }
    }
    round
}
