//! The cabling, drawn for a terminal.
//!
//! Two nodes stand side by side. Cages on switches are a table with a bar for each plane. Any other cables are drawn
//! beside a list of the nodes, each as a line from cage to cage.

mod arcs;
mod canvas;
mod pair;
mod planes;

use std::collections::{BTreeMap, BTreeSet};

use crosstie_fabric::cabling::CageConnection;
use crosstie_model::{Cable, PortRef};

use crate::text::{Palette, TextSpan, TextTone, line, printable};
use canvas::Canvas;

/// A node with its cages, in the order in which they are drawn.
pub struct DrawnNode {
    pub name: String,
    pub cages: Vec<(String, CageConnection)>,
}

pub fn draw(nodes: &[DrawnNode], cables: &[Cable], palette: Palette) -> String {
    let mut out = String::new();
    line(
        palette,
        &[TextSpan::new(TextTone::Strong, shape(nodes, cables))],
        &mut out,
    );
    let is_switched = |cable: &Cable| matches!(cable, Cable::Switched { .. });
    let (switched, direct): (Vec<&Cable>, Vec<&Cable>) =
        cables.iter().partition(|cable| is_switched(cable));
    if !switched.is_empty() {
        out.push('\n');
        let canvas = planes::draw(nodes, &switched);
        render(&canvas, &switched, palette, &mut out);
    }
    if !direct.is_empty() || (switched.is_empty() && !nodes.is_empty()) {
        out.push('\n');
        let canvas = match nodes {
            [left, right] if switched.is_empty() => pair::draw(left, right, &direct),
            _ => arcs::draw(nodes, &direct),
        };
        render(&canvas, &direct, palette, &mut out);
    }
    out
}

/// Where a drawing is wider than the terminal, its cables are listed.
fn render(canvas: &Canvas, cables: &[&Cable], palette: Palette, out: &mut String) {
    if palette.has_room_for(canvas.width()) {
        return canvas.render(palette, out);
    }
    for cable in cables {
        let text = match cable {
            Cable::Direct { a, b, number } => {
                let number = number.map_or_else(String::new, |number| format!("{number}  "));
                format!("  {number}{a} – {b}")
            }
            Cable::Switched { port, plane } => format!("  {port} – {plane}"),
        };
        line(palette, &[TextSpan::new(TextTone::Plain, text)], out);
    }
}

/// What it is called by people who build such clusters.
fn shape(nodes: &[DrawnNode], cables: &[Cable]) -> String {
    let mut neighbours: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut direct = 0;
    let mut planes: BTreeSet<&str> = BTreeSet::new();
    for cable in cables {
        match cable {
            Cable::Direct { a, b, .. } => {
                direct += 1;
                neighbours.entry(&a.node).or_default().insert(&b.node);
                neighbours.entry(&b.node).or_default().insert(&a.node);
            }
            Cable::Switched { plane, .. } => {
                planes.insert(plane);
            }
        }
    }
    let count = nodes.len();
    let all = |degree: usize| {
        neighbours.len() == count && neighbours.values().all(|others| others.len() == degree)
    };
    let is_ring = count > 2 && direct == count && all(2) && is_one(&neighbours);
    let is_mesh = count > 2 && all(count - 1);
    match (planes.len(), direct) {
        (0, 0) => format!("{count} nodes, no cable between them").replace("1 nodes", "1 node"),
        (0, _) if count == 2 => format!("2 nodes, {}", counted(direct, "cable")),
        (0, _) if is_ring => format!("a ring of {count} nodes"),
        (0, _) if is_mesh => format!("a full mesh of {count} nodes, {}", counted(direct, "cable")),
        (0, _) => format!("{count} nodes, {}", counted(direct, "cable")),
        (switches, 0) => format!("{count} nodes on {}", counted(switches, "switch plane")),
        (switches, _) => format!(
            "{count} nodes on {}, and {} between nodes",
            counted(switches, "switch plane"),
            counted(direct, "cable")
        ),
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn is_one(neighbours: &BTreeMap<&str, BTreeSet<&str>>) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = neighbours.keys().take(1).copied().collect();
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            open.extend(neighbours.get(node).into_iter().flatten());
        }
    }
    seen.len() == neighbours.len()
}

/// The cable's other end and number, seen from a cage.
fn other_end<'a>(
    cables: &[&'a Cable],
    node: &str,
    cage: &str,
) -> Option<(&'a PortRef, Option<u32>)> {
    cables.iter().find_map(|cable| match cable {
        Cable::Direct { a, b, number } => {
            let is_here = |port: &PortRef| port.node == node && port.cage == cage;
            let other = if is_here(a) {
                Some(b)
            } else {
                is_here(b).then_some(a)
            };
            other.map(|other| (other, *number))
        }
        Cable::Switched { .. } => None,
    })
}

/// Why nothing is drawn at a cage, where a person should ask.
fn mark(state: CageConnection) -> &'static str {
    match state {
        CageConnection::Cabled | CageConnection::NoCarrier => "",
        CageConnection::Stranger | CageConnection::Nobody => "?",
        CageConnection::Loop => "↺",
        CageConnection::Unknown => "·",
    }
}

fn width(text: &str) -> usize {
    printable(text).chars().count()
}

#[cfg(test)]
mod tests;
