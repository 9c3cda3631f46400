//! Switch planes as bars, with nodes above and below them.

use std::collections::HashMap;

use maud::{Markup, html};

use super::{mark, ring, tag};
use crate::{
    html::chart::{at, cable_class, shortened},
    run_report::{CableReport, Grade},
};

const WIDTH: f64 = 1040.0;
const BOX_HEIGHT: f64 = 44.0;
const BAR_HEIGHT: f64 = 34.0;
const BAR_STEP: f64 = 52.0;
/// From a row of nodes to the nearest plane.
const PLANE_GAP: f64 = 92.0;
const GAP: f64 = 12.0;
/// With more cables only those get a label that are not healthy.
const LABELLED: usize = 8;
const ONE_ROW: usize = 8;

struct Layout<'a> {
    places: HashMap<&'a str, NodePosition>,
    planes: Vec<(&'a str, f64)>,
    box_width: f64,
    height: f64,
}

#[derive(Clone, Copy)]
struct NodePosition {
    /// Of the box's middle.
    x: f64,
    y: f64,
    is_above: bool,
}

pub(super) fn draw(nodes: &[&str], cables: &[&CableReport], label: &str) -> Markup {
    // Cables between nodes beside switches: every plane is a node of the circle then.
    if cables.iter().any(|cable| cable.plane.is_none()) {
        let direct: Vec<&CableReport> = cables
            .iter()
            .copied()
            .filter(|cable| cable.plane.is_none())
            .collect();
        let switched: Vec<&CableReport> = cables
            .iter()
            .copied()
            .filter(|cable| cable.plane.is_some())
            .collect();
        return html! { (ring::draw(nodes, &direct, label)) (draw(nodes, &switched, label)) };
    }
    let layout = layout(nodes, cables);
    let labelled =
        |cable: &CableReport| cables.len() <= LABELLED || cable.grade != Some(Grade::Healthy);
    let lines: Vec<(&CableReport, f64, f64, f64)> = cables
        .iter()
        .filter_map(|cable| line(&layout, cables, cable))
        .collect();
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {}", at(layout.height))) role="img" aria-label=(label) {
            @for (cable, x, from, to) in &lines {
                line class={ "cable " (cable_class(cable.grade)) } x1=(at(*x)) x2=(at(*x)) y1=(at(*from)) y2=(at(*to)) {
                    title { (cable.name) }
                }
            }
            @for (plane, y) in &layout.planes {
                rect.plane x="1" y=(at(*y)) width=(at(WIDTH - 2.0)) height=(at(BAR_HEIGHT)) rx="8" {}
                text.strong x="16" y=(at(y + BAR_HEIGHT / 2.0 + 5.0)) { (shortened(plane, 60)) }
            }
            @for (_, x, _, to) in &lines {
                circle.base cx=(at(*x)) cy=(at(*to)) r="3.5" {}
            }
            @for host in nodes {
                @if let Some(place) = layout.places.get(host) { (node(host, *place, layout.box_width)) }
            }
            @for (cable, x, from, to) in lines.iter().filter(|(cable, ..)| labelled(cable)) {
                (tag(cable, *x, label_height(&layout, *x, *from, *to), &mark(cable)))
            }
        }
    }
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)] // a few dozen nodes
fn node(host: &str, place: NodePosition, width: f64) -> Markup {
    let letters = (width / 8.4) as usize;
    html! {
        rect.box x=(at(place.x - width / 2.0)) y=(at(place.y - BOX_HEIGHT / 2.0)) width=(at(width)) height=(at(BOX_HEIGHT)) rx="8" {}
        text.strong x=(at(place.x)) y=(at(place.y + 5.0)) text-anchor="middle" { title { (host) } (shortened(host, letters)) }
    }
}

/// Near the node, where no plane is; labels of a node's cables are wider than the cables are apart, so they take turns.
fn label_height(layout: &Layout, x: f64, from: f64, to: f64) -> f64 {
    let is_right = layout.places.values().any(|place| {
        let off = x - place.x;
        off > 0.5 && off < layout.box_width / 2.0
    });
    let off = if is_right { 13.0 } else { -13.0 };
    from + (to - from).signum() * (BOX_HEIGHT / 2.0 + PLANE_GAP / 2.0 + off)
}

#[allow(clippy::cast_precision_loss)] // a few dozen nodes
fn layout<'a>(nodes: &[&'a str], cables: &[&'a CableReport]) -> Layout<'a> {
    let mut planes: Vec<&str> = Vec::new();
    for plane in cables.iter().filter_map(|cable| cable.plane.as_deref()) {
        if !planes.contains(&plane) {
            planes.push(plane);
        }
    }
    let above = if nodes.len() <= ONE_ROW {
        nodes.len()
    } else {
        nodes.len().div_ceil(2)
    };
    let column = WIDTH / above.max(1) as f64;
    let box_width = (column - GAP).min(150.0);
    let first_bar = BOX_HEIGHT + 1.0 + PLANE_GAP;
    let last_bar = first_bar + BAR_STEP * planes.len() as f64 - (BAR_STEP - BAR_HEIGHT);
    let has_below = nodes.len() > above;
    let below = last_bar + PLANE_GAP + BOX_HEIGHT / 2.0;
    let placed = nodes.iter().enumerate().map(|(index, host)| {
        let is_above = index < above;
        let in_row = if is_above { index } else { index - above };
        let place = NodePosition {
            x: column * (in_row as f64 + 0.5),
            y: if is_above {
                BOX_HEIGHT / 2.0 + 1.0
            } else {
                below
            },
            is_above,
        };
        (*host, place)
    });
    let bars = planes.iter().enumerate();
    Layout {
        places: placed.collect(),
        planes: bars
            .map(|(index, plane)| (*plane, first_bar + BAR_STEP * index as f64))
            .collect(),
        box_width,
        height: if has_below {
            below + BOX_HEIGHT / 2.0 + 1.0
        } else {
            last_bar + 2.0
        },
    }
}

/// A cable's x, and its y at the node and at the plane. Cables of one node lie beside each other.
#[allow(clippy::cast_precision_loss)] // a few cables
fn line<'a>(
    layout: &Layout,
    cables: &[&'a CableReport],
    cable: &'a CableReport,
) -> Option<(&'a CableReport, f64, f64, f64)> {
    let end = cable.ends.first()?;
    let place = layout.places.get(end.host.as_str())?;
    let wanted = cable.plane.as_deref()?;
    let (_, bar) = layout.planes.iter().find(|(name, _)| *name == wanted)?;
    let own = |other: &&&CableReport| {
        other
            .ends
            .first()
            .is_some_and(|first| first.host == end.host)
    };
    let own: Vec<&str> = cables
        .iter()
        .filter(own)
        .map(|other| other.name.as_str())
        .collect();
    let index = own.iter().position(|name| *name == cable.name)?;
    let step = (layout.box_width - 16.0) / own.len() as f64;
    let x = place.x + (index as f64 - (own.len() as f64 - 1.0) / 2.0) * step;
    let to = if place.is_above {
        *bar
    } else {
        bar + BAR_HEIGHT
    };
    Some((cable, x, place.y, to))
}
