//! Ends, directions and parts as a person would name them.

use crosstie_model::run::MeasuredEnd;

use crate::locate::{PortLocation, SuspectPart};

/// `spark-a mlx5_0`: a port, for comparing and for people.
pub fn end(end: &MeasuredEnd) -> String {
    let port = end.device.as_deref().or(end.interface.as_deref());
    match port {
        Some(port) => format!("{} {port}", end.host),
        None => end.host.clone(),
    }
}

/// `spark-a → spark-b`, with the rail where it is not the first.
pub fn direction(from: &MeasuredEnd, to: &MeasuredEnd) -> String {
    format!("{} → {}{}", from.host, to.host, rail(from, to))
}

pub fn both_ways(from: &MeasuredEnd, to: &MeasuredEnd) -> String {
    format!("{} ↔ {}{}", from.host, to.host, rail(from, to))
}

fn rail(from: &MeasuredEnd, to: &MeasuredEnd) -> String {
    match (from.rail, to.rail) {
        (0, 0) => String::new(),
        (a, b) if a == b => format!(", rail {a}"),
        (a, b) => format!(", rail {a} to rail {b}"),
    }
}

pub fn gbps(value: f64) -> String {
    // A lab's megabits.
    if value < 0.995 {
        format!("{value:.3} Gb/s")
    } else if value < 10.0 {
        format!("{value:.2} Gb/s")
    } else {
        format!("{value:.1} Gb/s")
    }
}

/// What places and parts are called.
#[derive(Debug, Clone, Copy)]
pub struct PartNames<'n, 'a> {
    pub hosts: &'n [&'a str],
    pub cables: &'n [&'a str],
    pub ends: &'n [&'a MeasuredEnd],
    pub places: &'n [PortLocation],
}

/// What may be at fault.
pub(super) fn suspect(names: PartNames, suspect: SuspectPart) -> String {
    let host = |node: usize| names.hosts[node];
    let port = |port: usize| {
        let end = names.ends[port];
        let name = end.device.as_deref().or(end.interface.as_deref());
        format!("port {} of {}", name.unwrap_or("?"), end.host)
    };
    let cable = |cable: usize| {
        let mut ends = names
            .places
            .iter()
            .filter(|place| place.cable == Some(cable));
        let node = ends.next().map(|place| place.node);
        let switched = ends.all(|place| Some(place.node) == node);
        let switch = if switched { " or its switch port" } else { "" };
        format!("cable {}{switch}", names.cables[cable])
    };
    match suspect {
        SuspectPart::Everything => {
            "something that all nodes share: the switch, or a setting".to_owned()
        }
        SuspectPart::Rail(rail) => {
            format!("what all ports of rail {rail} share: the switch, or a setting")
        }
        SuspectPart::Node(node) => format!("node {}", host(node)),
        SuspectPart::NodeSending(node) => format!("node {}, sending", host(node)),
        SuspectPart::NodeReceiving(node) => format!("node {}, receiving", host(node)),
        SuspectPart::Port(at) => port(at),
        SuspectPart::PortSending(at) => format!("{}, sending", port(at)),
        SuspectPart::PortReceiving(at) => format!("{}, receiving", port(at)),
        SuspectPart::Cable(at) => cable(at),
        SuspectPart::CableFrom(at, node) => {
            format!("{}, in the direction from {}", cable(at), host(node))
        }
        SuspectPart::CableTo(at, node) => {
            format!("{}, in the direction to {}", cable(at), host(node))
        }
        SuspectPart::Path(a, b) => format!(
            "the path between {} and {}",
            end(names.ends[a]),
            end(names.ends[b])
        ),
        SuspectPart::PathOneWay(a, b) => format!(
            "the path from {} to {}",
            end(names.ends[a]),
            end(names.ends[b])
        ),
        SuspectPart::Between(a, b) => format!("all that lies between {} and {}", host(a), host(b)),
        SuspectPart::BetweenOneWay(a, b) => {
            format!("all that lies from {} to {}", host(a), host(b))
        }
    }
}
