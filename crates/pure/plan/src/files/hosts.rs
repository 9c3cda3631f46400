//! Names for the fabric's addresses, as this node reaches them: on a ring each neighbour has a different one.

use std::{collections::BTreeMap, fmt::Write, net::IpAddr};

use crate::wiring::{PlannedWiring, WiredNode};

pub(crate) fn hosts(wiring: &PlannedWiring, node: &WiredNode) -> String {
    let mut addresses: BTreeMap<usize, Vec<IpAddr>> = BTreeMap::new();
    for (index, address) in wiring.neighbours(node) {
        let known = addresses.entry(index).or_default();
        if !known.contains(&address.addr()) {
            known.push(address.addr());
        }
    }
    let mut text = String::new();
    for (index, addresses) in addresses {
        let name = &wiring.spec.nodes[index].name;
        // An address needs no name.
        if name.parse::<IpAddr>().is_ok() {
            continue;
        }
        for (number, address) in (1..).zip(addresses) {
            let _ = writeln!(text, "{address} {}", fabric_name(name, number));
        }
    }
    text
}

/// `spark-b-fabric`, `spark-b-fabric-2`; `spark-b-fabric.lab` for `spark-b.lab`.
fn fabric_name(node: &str, number: u32) -> String {
    let (label, rest) = node.split_at(node.find('.').unwrap_or(node.len()));
    let suffix = if number == 1 {
        String::new()
    } else {
        format!("-{number}")
    };
    format!("{label}-fabric{suffix}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_domain() {
        assert_eq!(fabric_name("spark-b", 1), "spark-b-fabric");
        assert_eq!(fabric_name("spark-b.lab", 2), "spark-b-fabric-2.lab");
    }
}
