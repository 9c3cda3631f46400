//! Nodes down, switch planes across.

use std::collections::BTreeMap;

use crosstie_model::Cable;

use super::{DrawnNode, canvas::Canvas, width};
use crate::text::TextTone;

const LEFT: usize = 2;
const GAP: usize = 3;

pub(super) fn draw(nodes: &[DrawnNode], cables: &[&Cable]) -> Canvas {
    let mut planes: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for cable in cables {
        if let Cable::Switched { port, plane } = cable {
            let cages = planes.entry(plane).or_default();
            cages.entry(&port.node).or_default().push(&port.cage);
        }
    }
    let mut canvas = Canvas::default();
    let mut column = LEFT
        + nodes
            .iter()
            .map(|node| width(&node.name))
            .max()
            .unwrap_or(0)
        + GAP;
    for (row, node) in nodes.iter().enumerate() {
        canvas.put(row + 2, LEFT, TextTone::Strong, &node.name);
    }
    for (plane, cages) in planes {
        let cell = |node: &DrawnNode| cages.get(node.name.as_str()).map(|cages| cages.join(" "));
        let widest = nodes.iter().filter_map(cell).map(|cell| width(&cell)).max();
        // The bar stands under the middle of the plane's name.
        let bar = column + (widest.unwrap_or(0) + 2).max(width(plane) / 2);
        canvas.put(0, bar - width(plane) / 2, TextTone::Accent, plane);
        canvas.put(1, bar, TextTone::Accent, "┃");
        for (row, node) in nodes.iter().enumerate() {
            match cell(node) {
                Some(cell) => {
                    canvas.put(row + 2, bar - 2 - width(&cell), TextTone::Plain, &cell);
                    canvas.put(row + 2, bar - 1, TextTone::Accent, "─┨");
                }
                None => canvas.put(row + 2, bar, TextTone::Accent, "┃"),
            }
        }
        column = bar + width(plane).div_ceil(2).max(1) + GAP;
    }
    canvas
}
