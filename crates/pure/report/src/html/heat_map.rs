//! Every node to every other: a table, coloured.

use std::collections::{BTreeSet, HashMap};

use maud::{Markup, html};

use super::{chart::shortened, number};
use crate::run_report::{Grade, MatrixCell, RunReport};

/// More are no picture any more.
const MOST_NODES: usize = 40;

pub(super) fn section(report: &RunReport) -> Markup {
    let hosts = chosen(report);
    html! {
        section id="pairs" aria-labelledby="pairs-title" {
            h2 id="pairs-title" { "Every pair" }
            p.lead {
                "RDMA bandwidth from the node of the row to the node of the column, in percent of the ceiling; the worst rail of a pair counts. "
                "Healthy from 95, a warning from 80, a fault below."
            }
            @if hosts.len() < report.nodes.len() {
                p.small.quiet { "Shown are the " (hosts.len()) " of " (report.nodes.len()) " nodes with the worst pairs." }
            }
            div.scroll tabindex="0" role="region" aria-label="Pairs of nodes" { (map(report, &hosts)) }
            (key(report))
        }
    }
}

fn chosen(report: &RunReport) -> Vec<&str> {
    let hosts = || report.nodes.iter().map(|node| node.host.as_str());
    if report.nodes.len() <= MOST_NODES {
        return hosts().collect();
    }
    let mut bad: HashMap<&str, usize> = HashMap::new();
    for cell in report
        .matrix
        .iter()
        .filter(|cell| cell.grade > Some(Grade::Healthy))
    {
        *bad.entry(&cell.from).or_default() += 1;
        *bad.entry(&cell.to).or_default() += 1;
    }
    let mut ranked: Vec<&str> = hosts().collect();
    ranked.sort_by_key(|host| std::cmp::Reverse(bad.get(host)));
    let kept: BTreeSet<&str> = ranked.into_iter().take(MOST_NODES).collect();
    hosts().filter(|host| kept.contains(host)).collect()
}

fn map(report: &RunReport, hosts: &[&str]) -> Markup {
    let cells = report.matrix.iter();
    let cells: HashMap<(&str, &str), &MatrixCell> = cells
        .map(|cell| ((cell.from.as_str(), cell.to.as_str()), cell))
        .collect();
    html! {
        table.heat {
            thead {
                tr {
                    td { span.small.quiet { "from ↓ to →" } }
                    @for host in hosts {
                        th scope="col" title=(host) {
                            @if hosts.len() > 6 { div.turn { (shortened(host, 18)) } } @else { (shortened(host, 18)) }
                        }
                    }
                }
            }
            tbody {
                @for from in hosts {
                    tr {
                        th scope="row" title=(from) { (shortened(from, 18)) }
                        @for to in hosts {
                            @if from == to {
                                td.self { "·" }
                            } @else {
                                (cell(cells.get(&(*from, *to)).copied()))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(cell: Option<&MatrixCell>) -> Markup {
    let grade = cell.and_then(|cell| cell.grade);
    let class = grade.map_or("untested", Grade::name);
    let percent = cell.and_then(|cell| cell.percent);
    let title = cell.map(|cell| match cell.gbps {
        Some(gbps) => format!(
            "{} → {}: {} Gb/s, {}",
            cell.from,
            cell.to,
            number::gbps(gbps),
            class
        ),
        None => format!("{} → {}: {class}", cell.from, cell.to),
    });
    html! {
        td class=(class) title=[title] {
            @match (grade, percent) {
                (Some(_), Some(percent)) => (percent),
                (Some(grade), None) => (grade.sign()),
                (None, _) => span aria-label="not tested" { "?" },
            }
        }
    }
}

fn key(report: &RunReport) -> Markup {
    let grades: BTreeSet<Option<Grade>> = report.matrix.iter().map(|cell| cell.grade).collect();
    html! {
        @if grades.contains(&None) { p.small.quiet { "? has no figure: the two are not joined, the run left the pair out, or it could not be measured." } }
        @if grades.contains(&Some(Grade::Failed)) { p.small.quiet { "✗ was tried and gave no figure." } }
        @if !report.rail_sums.is_empty() { (rails(report)) }
    }
}

/// All rails at once.
fn rails(report: &RunReport) -> Markup {
    use super::table::{MOST_ROWS, badge, folded, left_out};
    let mut sums: Vec<_> = report.rail_sums.iter().collect();
    sums.sort_by_key(|sum| {
        std::cmp::Reverse((sum.verdict, u32::MAX - sum.percent.unwrap_or(u32::MAX)))
    });
    let rows = html! {
        @for sum in sums.iter().take(MOST_ROWS) {
            tr {
                td { (sum.from) " → " (sum.to) }
                td.number { (sum.rails) }
                td.number { (number::gbps(sum.gbps)) }
                td.number { @if let Some(ceiling) = sum.ceiling_gbps { (number::gbps(ceiling)) } }
                td.number { @if let Some(percent) = sum.percent { (number::percent(percent)) } }
                td { (badge(sum.verdict)) }
                td { @if let Some(limit) = &sum.limit { (limit) } }
            }
        }
    };
    let columns = [
        "pair",
        "rails",
        "Gb/s",
        "ceiling",
        "of it",
        "grade",
        "looks like",
    ];
    html! {
        (folded("All rails of a pair at once", &columns, &rows))
        (left_out(MOST_ROWS, sums.len()))
    }
}
