//! Two nodes side by side, a line for each cable.

use crosstie_fabric::cabling::CageConnection;
use crosstie_model::Cable;

use super::{DrawnNode, canvas::Canvas, mark, other_end, width};
use crate::text::TextTone;

const LEFT: usize = 2;
const GAP: usize = 15;

type Cage = (String, CageConnection);

pub(super) fn draw(left: &DrawnNode, right: &DrawnNode, cables: &[&Cable]) -> Canvas {
    let mut canvas = Canvas::default();
    let (left_width, right_width) = (box_width(left), box_width(right));
    let second = LEFT + left_width + GAP;
    let rows = rows(left, right, cables);
    for (node, column, wide) in [(left, LEFT, left_width), (right, second, right_width)] {
        let bar = "─".repeat(wide.saturating_sub(width(&node.name) + 5));
        canvas.put(0, column, TextTone::Quiet, "╭─ ");
        canvas.put(0, column + 3, TextTone::Strong, &node.name);
        canvas.put(
            0,
            column + 4 + width(&node.name),
            TextTone::Quiet,
            &format!("{bar}╮"),
        );
        let bottom = format!("╰{}╯", "─".repeat(wide - 2));
        canvas.put(rows.len() + 1, column, TextTone::Quiet, &bottom);
        for row in 1..=rows.len() {
            canvas.put(row, column, TextTone::Quiet, "│");
            canvas.put(row, column + wide - 1, TextTone::Quiet, "│");
        }
    }
    let edge = LEFT + left_width - 1;
    for (index, (ours, theirs, number)) in rows.iter().enumerate() {
        let row = index + 1;
        if let Some((cage, state)) = ours {
            canvas.put(row, edge - 1 - width(cage), TextTone::Plain, cage);
            canvas.put(row, edge + 2, TextTone::Bad, mark(*state));
        }
        if let Some((cage, state)) = theirs {
            canvas.put(row, second + 2, TextTone::Plain, cage);
            canvas.put(row, second - 2, TextTone::Bad, mark(*state));
        }
        if let Some(number) = number {
            let label = number.map_or_else(String::new, |number| format!(" {number} "));
            let line = format!("├{label:─^GAP$}┤");
            canvas.put(row, edge, TextTone::Accent, &line);
        }
    }
    canvas
}

/// Left cage, right cage, and the cable's number if they are joined.
type Row<'a> = (Option<&'a Cage>, Option<&'a Cage>, Option<Option<u32>>);

/// Cables first, each on a row of its own, so that none crosses another; then what is left over.
fn rows<'a>(left: &'a DrawnNode, right: &'a DrawnNode, cables: &[&Cable]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut joined = Vec::new();
    let mut ours = Vec::new();
    for cage in &left.cages {
        let other = other_end(cables, &left.name, &cage.0);
        let theirs = other.and_then(|(other, number)| {
            let found = right.cages.iter().find(|theirs| theirs.0 == other.cage);
            found.map(|theirs| (theirs, number))
        });
        if let Some((theirs, number)) = theirs {
            joined.push(&theirs.0);
            rows.push((Some(cage), Some(theirs), Some(number)));
        } else {
            ours.push(cage);
        }
    }
    let theirs = right.cages.iter().filter(|cage| !joined.contains(&&cage.0));
    let theirs: Vec<&Cage> = theirs.collect();
    for index in 0..ours.len().max(theirs.len()) {
        rows.push((ours.get(index).copied(), theirs.get(index).copied(), None));
    }
    rows
}

fn box_width(node: &DrawnNode) -> usize {
    let cages = node.cages.iter().map(|cage| width(&cage.0) + 4);
    cages.max().unwrap_or(0).max(width(&node.name) + 6)
}
