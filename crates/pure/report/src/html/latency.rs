//! How latency is distributed.

use maud::{Markup, html};

use super::{
    chart::{LogarithmicScale, PlotArea, at, horizontal_axis, tick, vertical_ticks},
    number,
    table::{MOST_ROWS, folded, left_out},
};
use crate::run_report::{HistogramBucket, LatencyReport, PairReport, RunReport};

const FRAME: PlotArea = PlotArea {
    left: 62.0,
    top: 34.0,
    width: 402.0,
    height: 180.0,
};

pub(super) fn figure(report: &RunReport) -> Markup {
    let buckets = &report.latency_histogram;
    let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else {
        return html! {};
    };
    let scale = LogarithmicScale::between(first.from_us, last.to_us);
    let filled = || buckets.iter().filter(|bucket| bucket.count > 0);
    let rarest = filled().map(|bucket| bucket.percent).fold(100.0, f64::min);
    // A tail is a thousandth of a percent, and is what hurts: shares are drawn by their logarithm.
    let heights = LogarithmicScale::between(10_f64.powf((rarest / 2.0).log10().floor()), 100.0);
    let ticks: Vec<(f64, String)> = scale
        .ticks()
        .into_iter()
        .map(|value| (scale.share(value), tick(value)))
        .collect();
    let levels: Vec<(f64, f64)> = heights
        .ticks()
        .into_iter()
        .map(|value| (heights.share(value), value))
        .collect();
    let pairs = pairs(report);
    let label = format!(
        "Distribution of RDMA latency: from {} to {} microseconds.",
        number::microseconds(first.from_us),
        number::microseconds(last.to_us)
    );
    html! {
        figure {
            figcaption {
                h3 { "RDMA latency" }
                p.small.quiet { "Share of all messages of " (pairs.len()) " paths, by their time one way. The share is on a logarithmic scale, so that the tail shows." }
            }
            svg viewBox="0 0 480 260" role="img" aria-label=(label) {
                (vertical_ticks(FRAME, &levels, "%"))
                (horizontal_axis(FRAME, &ticks, "µs, one way"))
                @for bucket in filled() { (bar(bucket, &scale, &heights)) }
            }
            (table(buckets))
            (paths(&pairs))
        }
    }
}

fn bar(bucket: &HistogramBucket, scale: &LogarithmicScale, heights: &LogarithmicScale) -> Markup {
    let from = FRAME.along(scale.share(bucket.from_us));
    let to = FRAME.along(scale.share(bucket.to_us));
    let top = FRAME.up(heights.share(bucket.percent));
    html! {
        rect.one x=(at(from)) y=(at(top)) width=(at((to - from - 1.0).max(1.0))) height=(at(FRAME.bottom() - top)) {}
    }
}

fn table(buckets: &[HistogramBucket]) -> Markup {
    let rows = html! {
        @for bucket in buckets {
            tr {
                td.number { (number::microseconds(bucket.from_us)) }
                td.number { (number::microseconds(bucket.to_us)) }
                td.number { (bucket.count) }
                td.number { (format!("{:.3}", bucket.percent)) }
            }
        }
    };
    folded(
        "Latency as a table",
        &["from µs", "to µs", "messages", "%"],
        &rows,
    )
}

/// The worst tails first.
fn pairs(report: &RunReport) -> Vec<(&PairReport, &LatencyReport)> {
    let pairs = report
        .pairs
        .iter()
        .filter(|pair| pair.kind == "rdma-latency");
    let mut pairs: Vec<_> = pairs
        .filter_map(|pair| Some((pair, pair.latency_us.as_ref()?)))
        .collect();
    pairs.sort_by(|a, b| b.1.p999.total_cmp(&a.1.p999));
    pairs
}

fn paths(pairs: &[(&PairReport, &LatencyReport)]) -> Markup {
    let rows = html! {
        @for (pair, latency) in pairs.iter().take(MOST_ROWS) {
            tr {
                td { (pair.from) " → " (pair.to) }
                td.number { (pair.rail) }
                @for value in [latency.min, latency.p50, latency.p99, latency.p999, latency.max] {
                    td.number { (number::microseconds(value)) }
                }
            }
        }
    };
    html! {
        (folded("Latency of each path", &["path", "rail", "least", "p50", "p99", "p99.9", "most"], &rows))
        (left_out(MOST_ROWS, pairs.len()))
    }
}
