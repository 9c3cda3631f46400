//! What was found, against what the file says.

use std::collections::BTreeSet;

use crosstie_fabric::{
    cabling::{CablingNote, CageConnection, DetectedCabling},
    init::ClusterProposal,
};
use crosstie_model::{Cable, ClusterSpec, PortRef};

fn ends(cable: &Cable) -> BTreeSet<&PortRef> {
    cable.ends().collect()
}

fn is_same(a: &Cable, b: &Cable) -> bool {
    match (a, b) {
        (Cable::Switched { plane: a_plane, .. }, Cable::Switched { plane: b_plane, .. }) => {
            a_plane == b_plane && ends(a) == ends(b)
        }
        (Cable::Direct { .. }, Cable::Direct { .. }) => ends(a) == ends(b),
        _ => false,
    }
}

pub(super) fn has_cable(spec: &ClusterSpec, cable: &Cable) -> bool {
    spec.cables.iter().any(|own| is_same(own, cable))
}

fn name(cable: &Cable) -> String {
    match cable {
        Cable::Direct { a, b, number } => {
            let number = number.map(|number| format!("cable {number}, "));
            format!("{}{a} – {b}", number.unwrap_or_default())
        }
        Cable::Switched { port, plane } => format!("{port} – {plane}"),
    }
}

/// Those that the file has not, unless one of their cages has another cable there.
pub(super) fn new_cables<'a>(
    spec: Option<&ClusterSpec>,
    found: &'a [Cable],
) -> (Vec<&'a Cable>, Vec<CablingNote>) {
    let mut new = Vec::new();
    let mut notes = Vec::new();
    for cable in found {
        let own = spec.map_or(&[][..], |spec| &spec.cables);
        if own.iter().any(|own| is_same(own, cable)) {
            continue;
        }
        let other = own.iter().find(|own| !ends(own).is_disjoint(&ends(cable)));
        match other {
            None => new.push(cable),
            Some(other) => notes.push(CablingNote::Contradicts {
                ports: cable.ends().cloned().collect(),
                what: format!(
                    "found {}, and the cluster file has {}: it was left as it is; if the cable was moved, change it there",
                    name(cable),
                    name(other)
                ),
            }),
        }
    }
    (new, notes)
}

/// Cages and cables of the nodes that were looked at, as far as nothing of them was found.
pub(super) fn gone(
    spec: &ClusterSpec,
    proposal: &ClusterProposal,
    wiring: &DetectedCabling,
) -> Vec<CablingNote> {
    let state = |port: &PortRef| {
        let node = proposal
            .nodes
            .iter()
            .position(|node| node.name == port.node)?;
        let cage = wiring
            .cages
            .get(node)?
            .iter()
            .find(|cage| cage.id == port.cage);
        Some(cage.map(|cage| cage.connection))
    };
    let mut notes = Vec::new();
    for node in &spec.nodes {
        for cage in &node.cages {
            let port = PortRef {
                node: node.name.clone(),
                cage: cage.id.clone(),
            };
            if state(&port) == Some(None) {
                notes.push(CablingNote::Gone {
                    what: format!("{port} is in the cluster file, and none of its ports was found"),
                    ports: vec![port],
                });
            }
        }
    }
    for cable in &spec.cables {
        let ports: Vec<&PortRef> = cable.ends().collect();
        let states: Vec<_> = ports.iter().map(|port| state(port)).collect();
        let found = proposal.cables.iter().any(|found| is_same(found, cable));
        // Of a node that was not looked at nothing can be said.
        if found || states.contains(&None) {
            continue;
        }
        let dead = states
            .iter()
            .all(|state| *state == Some(Some(CageConnection::NoCarrier)));
        let why = if dead && ports.len() > 1 {
            "it is dead or unplugged: no carrier at either end"
        } else if dead {
            "it is dead or unplugged: no carrier"
        } else {
            "its ends do not hear each other"
        };
        notes.push(CablingNote::Gone {
            ports: ports.into_iter().cloned().collect(),
            what: format!("{} is in the cluster file, and {why}", name(cable)),
        });
    }
    notes
}
