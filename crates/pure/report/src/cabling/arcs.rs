//! Nodes and their cages in a list, cables as lines beside it.

use crosstie_fabric::cabling::CageConnection;
use crosstie_model::{Cable, PortRef};

use super::{DrawnNode, canvas::Canvas, mark, width};
use crate::text::TextTone;

const LEFT: usize = 2;
/// Columns from one line to the next: room for a number.
const STEP: usize = 4;

struct Arc {
    from: usize,
    to: usize,
    number: Option<u32>,
    track: usize,
}

pub(super) fn draw(nodes: &[DrawnNode], cables: &[&Cable]) -> Canvas {
    let mut canvas = Canvas::default();
    let cages = LEFT
        + nodes
            .iter()
            .map(|node| width(&node.name))
            .max()
            .unwrap_or(0)
        + 2;
    let widest = nodes.iter().flat_map(|node| &node.cages);
    let widest = widest.map(|cage| width(&cage.0)).max().unwrap_or(0);
    let start = cages + widest + 1;
    let mut places: Vec<(usize, PortRef)> = Vec::new();
    let mut row = 0;
    for node in nodes {
        canvas.put(row, LEFT, TextTone::Strong, &node.name);
        for (cage, state) in shown(node, cables) {
            canvas.put(row, cages, TextTone::Plain, cage);
            canvas.put(row, start + 1, TextTone::Bad, mark(*state));
            let (node, cage) = (node.name.clone(), cage.clone());
            places.push((row, PortRef { node, cage }));
            row += 1;
        }
        row += 1;
    }
    let mut arcs = arcs(cables, &places);
    assign_tracks(&mut arcs);
    for arc in &arcs {
        let column = start + 2 + STEP * arc.track;
        for row in arc.from + 1..arc.to {
            canvas.put(row, column, TextTone::Accent, "│");
        }
    }
    for arc in &arcs {
        let column = start + 2 + STEP * arc.track;
        for row in [arc.from, arc.to] {
            for passed in start..column {
                let character = if canvas.at(row, passed) == '│' {
                    "┼"
                } else {
                    "─"
                };
                canvas.put(row, passed, TextTone::Accent, character);
            }
        }
        canvas.put(arc.from, column, TextTone::Accent, "╮");
        canvas.put(arc.to, column, TextTone::Accent, "╯");
        if let Some(number) = arc.number {
            canvas.put(arc.from, column + 1, TextTone::Quiet, &format!(" {number}"));
        }
    }
    canvas
}

/// On a node whose other cages are on a switch, those alone that are not drawn there.
fn shown<'a>(
    node: &'a DrawnNode,
    cables: &[&Cable],
) -> impl Iterator<Item = &'a (String, CageConnection)> {
    node.cages.iter().filter(move |(cage, state)| {
        *state != CageConnection::Cabled || super::other_end(cables, &node.name, cage).is_some()
    })
}

fn arcs(cables: &[&Cable], places: &[(usize, PortRef)]) -> Vec<Arc> {
    let row = |port: &PortRef| {
        places
            .iter()
            .find(|(_, place)| place == port)
            .map(|(row, _)| *row)
    };
    let arc = |cable: &&Cable| match cable {
        Cable::Direct { a, b, number } => {
            let (a, b) = (row(a)?, row(b)?);
            Some(Arc {
                from: a.min(b),
                to: a.max(b),
                number: *number,
                track: 0,
            })
        }
        Cable::Switched { .. } => None,
    };
    cables.iter().filter_map(arc).collect()
}

/// Short lines near the list, long ones outside; lines on one track do not touch.
fn assign_tracks(arcs: &mut [Arc]) {
    arcs.sort_by_key(|arc| (arc.to - arc.from, arc.from));
    for index in 0..arcs.len() {
        let (done, rest) = arcs.split_at_mut(index);
        let arc = &mut rest[0];
        let is_free = |track: &usize| {
            let mut others = done.iter().filter(|other| other.track == *track);
            others.all(|other| other.to < arc.from || arc.to < other.from)
        };
        // As many tracks as lines are enough.
        arc.track = (0..=index).find(is_free).unwrap_or(index);
    }
}
