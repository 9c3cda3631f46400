//! Nodes and cables as they are plugged, each cable drawn by its grade.

mod pair;
mod planes;
mod ring;

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::{
    chart::cable_class,
    number,
    table::{badge, folded, grade_key},
};
use crate::run_report::{CableReport, Grade, RunReport};

/// More boxes than this are no picture any more: those with nothing to say are left out.
const MOST_NODES: usize = 32;

pub(super) fn section(report: &RunReport) -> Markup {
    html! {
        section id="topology" aria-labelledby="topology-title" {
            h2 id="topology-title" { "Topology" }
            @if report.cables.is_empty() {
                p.lead { "The run has no cabling: nothing says what is plugged into what." }
            } @else {
                (drawn(report))
            }
        }
    }
}

fn drawn(report: &RunReport) -> Markup {
    let nodes = chosen(report);
    let cables: Vec<&CableReport> = report
        .cables
        .iter()
        .filter(|cable| {
            cable
                .ends
                .iter()
                .all(|end| nodes.contains(&end.host.as_str()))
        })
        .collect();
    let bad = report
        .cables
        .iter()
        .filter(|cable| cable.grade.is_some_and(|grade| grade > Grade::Healthy));
    let bad: Vec<String> = bad.map(said).collect();
    let label = format!(
        "{} nodes and {} cables. {}",
        report.nodes.len(),
        report.cables.len(),
        if bad.is_empty() {
            "None is below its grade.".to_owned()
        } else {
            bad.join("; ")
        }
    );
    let has_planes = cables.iter().any(|cable| cable.plane.is_some());
    let drawing = match nodes.len() {
        _ if has_planes => planes::draw(&nodes, &cables, &label),
        2 => pair::draw([nodes[0], nodes[1]], &cables, &label),
        _ => ring::draw(&nodes, &cables, &label),
    };
    let grades: BTreeSet<Option<Grade>> = cables.iter().map(|cable| cable.grade).collect();
    let grades: Vec<Option<Grade>> = grades.into_iter().collect();
    html! {
        p.lead {
            "A cable has the grade of the best figure that crossed it, in its worse direction: a slow peer does not make a cable slow."
        }
        figure {
            div.scroll.wide tabindex="0" role="region" aria-label="Drawing of the topology" { (drawing) }
            (grade_key(&grades))
            @if nodes.len() < report.nodes.len() {
                p.small.quiet { "Drawn are " (nodes.len()) " of " (report.nodes.len()) " nodes, those with the worst cables first." }
            }
            (table(report))
        }
    }
}

/// Those with the worst cables first, in the order of the run.
fn chosen(report: &RunReport) -> Vec<&str> {
    let hosts = || report.nodes.iter().map(|node| node.host.as_str());
    if report.nodes.len() <= MOST_NODES {
        return hosts().collect();
    }
    let worst = |host: &str| {
        let cables = report.cables.iter();
        let own = cables.filter(|cable| cable.ends.iter().any(|end| end.host == host));
        own.map(|cable| cable.grade).max().flatten()
    };
    let mut ranked: Vec<(Option<Grade>, &str)> = hosts().map(|host| (worst(host), host)).collect();
    ranked.sort_by_key(|(grade, _)| std::cmp::Reverse(*grade));
    let kept: BTreeSet<&str> = ranked
        .iter()
        .take(MOST_NODES)
        .map(|(_, host)| *host)
        .collect();
    hosts().filter(|host| kept.contains(host)).collect()
}

/// `✓ 98 %`
fn mark(cable: &CableReport) -> String {
    let sign = cable.grade.map_or("?", Grade::sign);
    match cable.percent {
        Some(percent) => format!("{sign} {}", number::percent(percent)),
        None => format!("{sign} {}", cable.grade.map_or("not tested", Grade::words)),
    }
}

fn said(cable: &CableReport) -> String {
    format!(
        "{}: {} {}",
        cable.name,
        cable.grade.map_or("not tested", Grade::words),
        mark(cable)
    )
}

/// A label on a line, readable on top of others.
fn tag(cable: &CableReport, x: f64, y: f64, text: &str) -> Markup {
    use super::chart::at;
    #[allow(clippy::cast_precision_loss)] // a short text
    let width = text.chars().count() as f64 * 8.2 + 14.0;
    html! {
        rect.tag x=(at(x - width / 2.0)) y=(at(y - 11.0)) width=(at(width)) height="22" rx="11" {}
        text class={ "strong " (cable_class(cable.grade)) } x=(at(x)) y=(at(y + 5.0)) text-anchor="middle" { (text) }
    }
}

fn table(report: &RunReport) -> Markup {
    let mut cables: Vec<&CableReport> = report.cables.iter().collect();
    cables.sort_by_key(|cable| {
        std::cmp::Reverse((cable.grade, u32::MAX - cable.percent.unwrap_or(u32::MAX)))
    });
    let rows = html! {
        @for cable in cables {
            tr {
                td { (cable.name) }
                td { @match cable.grade { Some(grade) => (badge(grade)), None => "not tested" } }
                td.number { @if let Some(percent) = cable.percent { (number::percent(percent)) } }
                td.number { @if let Some(gbps) = cable.gbps { (number::gbps(gbps)) } }
            }
        }
    };
    folded(
        "Cables as a table",
        &["cable", "grade", "of its ceiling", "Gb/s"],
        &rows,
    )
}
