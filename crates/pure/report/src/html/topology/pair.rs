//! Two nodes, side by side.

use maud::{Markup, html};

use super::{mark, tag};
use crate::{
    html::{
        chart::{at, cable_class, shortened},
        number,
    },
    run_report::CableReport,
};

const WIDTH: f64 = 560.0;
const BOX: f64 = 132.0;
const STEP: f64 = 56.0;

pub(super) fn draw(nodes: [&str; 2], cables: &[&CableReport], label: &str) -> Markup {
    #[allow(clippy::cast_precision_loss)] // a few cables
    let height = STEP * cables.len() as f64 + 56.0;
    let sides = [(nodes[0], 1.0), (nodes[1], WIDTH - BOX - 1.0)];
    html! {
        svg.pair viewBox=(format!("0 0 {WIDTH} {}", at(height))) role="img" aria-label=(label) {
            @for (index, cable) in cables.iter().enumerate() {
                (line(cable, index))
            }
            @for (host, x) in sides {
                rect.box x=(at(x)) y="1" width=(at(BOX)) height=(at(height - 2.0)) rx="10" {}
                text.strong x=(at(x + BOX / 2.0)) y="30" text-anchor="middle" { title { (host) } (shortened(host, 14)) }
            }
            @for (index, cable) in cables.iter().enumerate() {
                (cages(nodes, cable, index))
            }
        }
    }
}

fn height_of(index: usize) -> f64 {
    #[allow(clippy::cast_precision_loss)] // a few cables
    let index = index as f64;
    76.0 + STEP * index
}

fn line(cable: &CableReport, index: usize) -> Markup {
    let y = height_of(index);
    let text = match cable.gbps {
        Some(gbps) => format!("{} · {} Gb/s", mark(cable), number::gbps(gbps)),
        None => mark(cable),
    };
    html! {
        line class={ "cable " (cable_class(cable.grade)) } x1=(at(BOX)) x2=(at(WIDTH - BOX)) y1=(at(y)) y2=(at(y)) {
            title { (cable.name) }
        }
        (tag(cable, WIDTH / 2.0, y, &text))
    }
}

/// Names of the cages, inside of the boxes; a cable is drawn from left to right whichever end it names first.
fn cages(nodes: [&str; 2], cable: &CableReport, index: usize) -> Markup {
    let y = at(height_of(index) + 5.0);
    let cage = |host: &str| {
        cable
            .ends
            .iter()
            .find(|end| end.host == host)
            .map(|end| end.cage.as_str())
    };
    html! {
        @if let Some(cage) = cage(nodes[0]) {
            text.quiet x=(at(BOX - 12.0)) y=(y) text-anchor="end" { (shortened(cage, 13)) }
        }
        @if let Some(cage) = cage(nodes[1]) {
            text.quiet x=(at(WIDTH - BOX + 12.0)) y=(y) { (shortened(cage, 13)) }
        }
    }
}
