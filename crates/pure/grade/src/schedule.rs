//! Which pairs are tested at the same time: no port, no shared cable and no shared PCI Express link in two of them.
//!
//! Where every port reaches every other and shares nothing, the circle method gives the fewest rounds there are (N − 1, or N
//! for odd N). Elsewhere pairs are given the first round that is free at all their resources.

use std::collections::HashMap;

/// A port and what it shares with others, as numbers that mean something to the caller. Its own number is not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedResources(pub Vec<u32>);

/// Two ports that are to be tested, by their places.
pub type PortPair = (usize, usize);

/// Pairs by round, as places in `pairs`. A pair of a port with itself, or with a port that is not there, is in none.
pub fn rounds(shared: &[SharedResources], pairs: &[PortPair]) -> Vec<Vec<usize>> {
    let valid = |pair: &PortPair| pair.0 != pair.1 && pair.0.max(pair.1) < shared.len();
    let count: HashMap<u32, usize> =
        shared
            .iter()
            .flat_map(|one| &one.0)
            .fold(HashMap::new(), |mut count, resource| {
                *count.entry(*resource).or_default() += 1;
                count
            });
    // What one port has for itself is no constraint beside the port.
    let alone = |port: usize| {
        shared[port]
            .0
            .iter()
            .all(|resource| count.get(resource) == Some(&1))
    };
    let components = components(shared.len(), shared, pairs.iter().copied().filter(valid));
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    // Of each port among those of its component.
    let mut position = vec![0; shared.len()];
    for component in components.group(pairs, valid) {
        for (at, port) in component.ports.iter().enumerate() {
            position[*port] = at;
        }
        let circle = component.ports.iter().all(|port| alone(*port))
            && component.is_complete(&position, pairs);
        let numbers = if circle {
            component.circle(&position, pairs)
        } else {
            component.first_free(shared, pairs)
        };
        for (pair, round) in component.pairs.iter().zip(numbers) {
            if rounds.len() <= round {
                rounds.resize_with(round + 1, Vec::new);
            }
            rounds[round].push(*pair);
        }
    }
    rounds
}

/// Ports that are joined by pairs or by what they share.
struct Components {
    leader: Vec<usize>,
}

#[derive(Default)]
struct Component {
    ports: Vec<usize>,
    pairs: Vec<usize>,
}

fn components(
    ports: usize,
    shared: &[SharedResources],
    pairs: impl Iterator<Item = PortPair>,
) -> Components {
    let mut found = Components {
        leader: (0..ports).collect(),
    };
    let mut owner: HashMap<u32, usize> = HashMap::new();
    for (port, resources) in shared.iter().enumerate() {
        for resource in &resources.0 {
            let first = *owner.entry(*resource).or_insert(port);
            found.join(first, port);
        }
    }
    for (a, b) in pairs {
        found.join(a, b);
    }
    found
}

impl Components {
    fn find(&mut self, port: usize) -> usize {
        let mut port = port;
        while self.leader[port] != port {
            self.leader[port] = self.leader[self.leader[port]];
            port = self.leader[port];
        }
        port
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.leader[a.max(b)] = a.min(b);
    }

    fn group(mut self, pairs: &[PortPair], valid: impl Fn(&PortPair) -> bool) -> Vec<Component> {
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut groups: Vec<Component> = Vec::new();
        for port in 0..self.leader.len() {
            let leader = self.find(port);
            let place = *places.entry(leader).or_insert_with(|| {
                groups.push(Component::default());
                groups.len() - 1
            });
            groups[place].ports.push(port);
        }
        for (index, pair) in pairs.iter().enumerate().filter(|(_, pair)| valid(pair)) {
            let leader = self.find(pair.0);
            if let Some(place) = places.get(&leader) {
                groups[*place].pairs.push(index);
            }
        }
        groups
    }
}

impl Component {
    /// Every port with every other, once.
    fn is_complete(&self, position: &[usize], pairs: &[PortPair]) -> bool {
        let ports = self.ports.len();
        if self.pairs.len() != ports * (ports - 1) / 2 {
            return false;
        }
        let mut seen = vec![false; ports * ports];
        self.pairs.iter().all(|pair| {
            let (a, b) = pairs[*pair];
            let (a, b) = (position[a], position[b]);
            !std::mem::replace(&mut seen[a.min(b) * ports + a.max(b)], true)
        })
    }

    /// Round r pairs the last port with port r, and those whose numbers add up to 2r, modulo one less than their number.
    fn circle(&self, position: &[usize], pairs: &[PortPair]) -> Vec<usize> {
        let ports = self.ports.len();
        let modulus = if ports.is_multiple_of(2) {
            ports - 1
        } else {
            ports
        };
        let half = modulus.div_ceil(2);
        let round = |pair: &usize| {
            let (a, b) = pairs[*pair];
            let (a, b) = (position[a], position[b]);
            let (low, high) = (a.min(b), a.max(b));
            if high == modulus {
                low
            } else {
                (low + high) * half % modulus.max(1)
            }
        };
        self.pairs.iter().map(round).collect()
    }

    fn first_free(&self, shared: &[SharedResources], pairs: &[PortPair]) -> Vec<usize> {
        let mut of_port: HashMap<usize, Busy> = HashMap::new();
        let mut of_resource: HashMap<u32, Busy> = HashMap::new();
        let mut numbers = Vec::with_capacity(self.pairs.len());
        for pair in &self.pairs {
            let (a, b) = pairs[*pair];
            let resources = || {
                let mut all: Vec<u32> = [a, b]
                    .iter()
                    .flat_map(|port| &shared[*port].0)
                    .copied()
                    .collect();
                all.sort_unstable();
                all.dedup();
                all
            };
            let resources = resources();
            let busy: Vec<&Busy> = [a, b]
                .iter()
                .filter_map(|port| of_port.get(port))
                .chain(
                    resources
                        .iter()
                        .filter_map(|resource| of_resource.get(resource)),
                )
                .collect();
            let round = first_free(&busy);
            for port in [a, b] {
                of_port.entry(port).or_default().take(round);
            }
            for resource in resources {
                of_resource.entry(resource).or_default().take(round);
            }
            numbers.push(round);
        }
        numbers
    }
}

/// Rounds that are taken, a bit each.
#[derive(Default)]
struct Busy(Vec<u64>);

impl Busy {
    fn take(&mut self, round: usize) {
        let word = round / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (round % 64);
    }
}

fn first_free(busy: &[&Busy]) -> usize {
    let words = busy.iter().map(|busy| busy.0.len()).max().unwrap_or(0);
    for word in 0..words {
        let taken = busy.iter().fold(0, |taken, busy| {
            taken | busy.0.get(word).copied().unwrap_or(0)
        });
        if taken != u64::MAX {
            return word * 64 + taken.trailing_ones() as usize;
        }
    }
    words * 64
}

#[cfg(test)]
mod tests;
