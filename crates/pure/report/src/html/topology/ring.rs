//! Nodes on a circle, cables as chords.

use std::{
    collections::HashMap,
    f64::consts::{FRAC_PI_2, TAU},
};

use maud::{Markup, html};

use super::{mark, tag};
use crate::{
    html::chart::{at, cable_class, shortened},
    run_report::{CableReport, Grade},
};

const BOX: (f64, f64) = (124.0, 40.0);
/// Between cables of the same two nodes.
const CABLE_GAP: f64 = 30.0;
/// With more cables only those get a label that are not healthy.
const LABELLED: usize = 12;

#[allow(clippy::cast_precision_loss)] // a few dozen nodes
pub(super) fn draw(nodes: &[&str], cables: &[&CableReport], label: &str) -> Markup {
    let count = nodes.len().max(1) as f64;
    let radius = (count * 26.0).clamp(130.0, 420.0);
    // Boxes are wider than high, and so is what they stand around.
    let across = radius * 1.7;
    let width = (2.0 * across + BOX.0 + 4.0).max(720.0);
    let height = 2.0 * radius + BOX.1 + 4.0;
    let centre = (width / 2.0, height / 2.0);
    let place = |index: usize| {
        let angle = TAU * index as f64 / count - FRAC_PI_2;
        (
            centre.0 + across * angle.cos(),
            centre.1 + radius * angle.sin(),
        )
    };
    let places: HashMap<&str, (f64, f64)> = nodes
        .iter()
        .enumerate()
        .map(|(index, host)| (*host, place(index)))
        .collect();
    let lines = lines(&places, cables);
    let labelled =
        |cable: &CableReport| cables.len() <= LABELLED || cable.grade != Some(Grade::Healthy);
    html! {
        svg viewBox=(format!("0 0 {} {}", at(width), at(height))) role="img" aria-label=(label) {
            @for (cable, from, to) in &lines {
                line class={ "cable " (cable_class(cable.grade)) }
                    x1=(at(from.0)) y1=(at(from.1)) x2=(at(to.0)) y2=(at(to.1)) { title { (cable.name) } }
            }
            @for host in nodes {
                @if let Some((x, y)) = places.get(host) {
                    rect.box x=(at(x - BOX.0 / 2.0)) y=(at(y - BOX.1 / 2.0)) width=(at(BOX.0)) height=(at(BOX.1)) rx="8" {}
                    text.strong x=(at(*x)) y=(at(y + 5.0)) text-anchor="middle" { title { (host) } (shortened(host, 14)) }
                }
            }
            @for (cable, from, to) in lines.iter().filter(|(cable, ..)| labelled(cable)) {
                (tag(cable, f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1), &mark(cable)))
            }
        }
    }
}

type Line<'a> = (&'a CableReport, (f64, f64), (f64, f64));

/// Cables of the same two nodes lie beside each other.
#[allow(clippy::cast_precision_loss)] // a few cables
fn lines<'a>(places: &HashMap<&str, (f64, f64)>, cables: &[&'a CableReport]) -> Vec<Line<'a>> {
    let mut pairs: HashMap<[&str; 2], Vec<&CableReport>> = HashMap::new();
    let mut order: Vec<[&str; 2]> = Vec::new();
    for cable in cables {
        let [a, b] = cable.ends.as_slice() else {
            continue;
        };
        let mut pair = [a.host.as_str(), b.host.as_str()];
        pair.sort_unstable();
        let of_pair = pairs.entry(pair).or_default();
        if of_pair.is_empty() {
            order.push(pair);
        }
        of_pair.push(cable);
    }
    let mut lines = Vec::new();
    for pair in order {
        let (Some(from), Some(to)) = (places.get(pair[0]), places.get(pair[1])) else {
            continue;
        };
        let (x, y) = (to.0 - from.0, to.1 - from.1);
        let length = (x * x + y * y).sqrt().max(1.0);
        let of_pair = &pairs[&pair];
        for (index, cable) in of_pair.iter().enumerate() {
            let off = (index as f64 - (of_pair.len() as f64 - 1.0) / 2.0) * CABLE_GAP;
            let shift = (-y / length * off, x / length * off);
            lines.push((
                *cable,
                (from.0 + shift.0, from.1 + shift.1),
                (to.0 + shift.0, to.1 + shift.1),
            ));
        }
    }
    lines
}
