//! Bandwidth over the size of messages.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::{
    chart::{LinearScale, PlotArea, at, cable_class, horizontal_axis, path, vertical_axis},
    number,
    table::{folded, grade_key},
};
use crate::run_report::{Grade, MessageSizeRow, MessageSizeSeries, RunReport};

const FRAME: PlotArea = PlotArea {
    left: 52.0,
    top: 34.0,
    width: 412.0,
    height: 200.0,
};
/// More lines are a tangle.
const MOST_LINES: usize = 12;
/// Width of a label below the axis.
const LABEL: f64 = 58.0;

pub(super) fn figure(report: &RunReport) -> Markup {
    let rows = &report.sizes;
    let [first, .., last] = rows.as_slice() else {
        return html! {};
    };
    let ceilings = report.graded().filter_map(|pair| pair.ceiling_gbps);
    let ceiling = ceilings.max_by(f64::total_cmp);
    let largest = rows
        .iter()
        .map(|row| row.gbps.most)
        .chain(ceiling)
        .fold(0.0, f64::max);
    let scale = LinearScale::up_to(largest);
    let label = format!(
        "RDMA bandwidth over message size: the median rises from {} Gb/s at {} to {} Gb/s at {}.",
        number::gbps(first.gbps.median),
        number::size(first.size),
        number::gbps(last.gbps.median),
        number::size(last.size),
    );
    html! {
        figure {
            figcaption {
                h3 { "Bandwidth over message size" }
                p.small.quiet {
                    @if is_few(report) { "Each line is one path in one direction." }
                    @else { "Median of " (last.gbps.count) " paths, and the range from the slowest to the fastest." }
                }
            }
            svg viewBox="0 0 480 280" role="img" aria-label=(label) {
                (vertical_axis(FRAME, &scale, "Gb/s"))
                (horizontal_axis(FRAME, &labels(rows), "bytes of a message"))
                @if let Some(ceiling) = ceiling { (limit(&scale, ceiling)) }
                @if is_few(report) { (lines(report, &scale)) } @else { (curves(rows, &scale)) }
            }
            @if is_few(report) { (grade_key(&grades(report))) (paths(report)) }
            (table(rows))
        }
    }
}

/// A doubling is a step.
#[allow(clippy::cast_precision_loss)] // a logarithm
fn along(rows: &[MessageSizeRow], size: u64) -> f64 {
    let power = |size: u64| (size.max(1) as f64).log2();
    let least = rows.first().map_or(0.0, |row| power(row.size));
    let most = rows.last().map_or(1.0, |row| power(row.size));
    (power(size) - least) / (most - least).max(1.0)
}

/// From the right, since the largest size is the one that is graded; what has no room is left out.
fn labels(rows: &[MessageSizeRow]) -> Vec<(f64, String)> {
    let mut labels: Vec<(f64, String)> = Vec::new();
    for row in rows.iter().rev() {
        let share = along(rows, row.size);
        let room = labels
            .last()
            .map_or(f64::MAX, |(last, _)| (last - share) * FRAME.width);
        // The last one is written to the left of its tick.
        let needed = if labels.len() == 1 {
            1.5 * LABEL
        } else {
            LABEL
        };
        if room >= needed {
            labels.push((share, number::size(row.size)));
        }
    }
    labels
}

fn limit(scale: &LinearScale, ceiling: f64) -> Markup {
    let y = FRAME.up(scale.share(ceiling));
    html! {
        line.limit x1=(at(FRAME.left)) x2=(at(FRAME.right())) y1=(at(y)) y2=(at(y)) {}
        text.axis.halo x=(at(FRAME.left + 6.0)) y=(at(y - 6.0)) { "ceiling " (number::gbps(ceiling)) }
    }
}

fn curves(rows: &[MessageSizeRow], scale: &LinearScale) -> Markup {
    let point = |row: &MessageSizeRow, value: f64| {
        (
            FRAME.along(along(rows, row.size)),
            FRAME.up(scale.share(value)),
        )
    };
    let upper = rows.iter().map(|row| point(row, row.gbps.most));
    let lower = rows.iter().rev().map(|row| point(row, row.gbps.least));
    let band = path(upper.chain(lower)) + "Z";
    let median = path(rows.iter().map(|row| point(row, row.gbps.median)));
    html! {
        path.band d=(band) {}
        path.line d=(median) {}
        @for row in rows {
            @let (x, y) = point(row, row.gbps.median);
            circle.dot cx=(at(x)) cy=(at(y)) r="3.5" {}
        }
    }
}

/// So few that each has a line of its own.
fn is_few(report: &RunReport) -> bool {
    report.size_series.len() <= MOST_LINES
}

fn grade(report: &RunReport, series: &MessageSizeSeries) -> Option<Grade> {
    let same = |pair: &&crate::run_report::PairReport| {
        pair.from == series.from && pair.to == series.to && pair.rail == series.rail
    };
    report.graded().filter(same).map(|pair| pair.verdict).max()
}

fn grades(report: &RunReport) -> Vec<Option<Grade>> {
    let grades: BTreeSet<Option<Grade>> = report
        .size_series
        .iter()
        .map(|series| grade(report, series))
        .collect();
    grades.into_iter().collect()
}

fn lines(report: &RunReport, scale: &LinearScale) -> Markup {
    html! {
        @for series in &report.size_series {
            @let points = series.points.iter().map(|point| {
                (FRAME.along(along(&report.sizes, point.size)), FRAME.up(scale.share(point.gbps)))
            });
            path class={ "cable thin " (cable_class(grade(report, series))) } d=(path(points)) {
                title { (series.from) " → " (series.to) ", rail " (series.rail) }
            }
        }
    }
}

/// The lines as a table: a row a size, a column a path.
fn paths(report: &RunReport) -> Markup {
    let names: Vec<String> = report
        .size_series
        .iter()
        .map(|series| format!("{} → {}, rail {}", series.from, series.to, series.rail))
        .collect();
    let columns: Vec<&str> = std::iter::once("message")
        .chain(names.iter().map(String::as_str))
        .collect();
    let rows = html! {
        @for row in &report.sizes {
            tr {
                th.nowrap scope="row" { (number::size(row.size)) }
                @for series in &report.size_series {
                    @let point = series.points.iter().find(|point| point.size == row.size);
                    td.number { @if let Some(point) = point { (number::gbps(point.gbps)) } }
                }
            }
        }
    };
    folded("Bandwidth of each path as a table", &columns, &rows)
}

fn table(rows: &[MessageSizeRow]) -> Markup {
    let body = html! {
        @for row in rows {
            tr {
                th.nowrap scope="row" { (number::size(row.size)) }
                td.number { (number::gbps(row.gbps.least)) }
                td.number { (number::gbps(row.gbps.median)) }
                td.number { (number::gbps(row.gbps.most)) }
                td.number { (row.gbps.count) }
            }
        }
    };
    folded(
        "Bandwidth as a table",
        &["message", "slowest", "median", "fastest", "paths"],
        &body,
    )
}
