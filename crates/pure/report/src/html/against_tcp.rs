//! RDMA against TCP, on the same ports.

use maud::{Markup, html};

use super::{
    chart::{LinearScale, PlotArea, at, tick},
    number,
    table::folded,
};
use crate::run_report::{MedianRange, RunReport};

const FRAME: PlotArea = PlotArea {
    left: 62.0,
    top: 12.0,
    width: 350.0,
    height: 112.0,
};

pub(super) fn figures(report: &RunReport) -> Markup {
    let summary = &report.summary;
    html! {
        @if let (Some(rdma), Some(tcp)) = (&summary.rdma_gbps, &summary.tcp_gbps) {
            (figure("RDMA against TCP: bandwidth", "Gb/s", [rdma, tcp], "More is better."))
        }
        @if let (Some(rdma), Some(tcp)) = (&summary.rdma_latency_us, &summary.tcp_latency_us) {
            (figure("RDMA against TCP: latency", "µs", [rdma, tcp], "Less is better; small messages, one way."))
        }
    }
}

/// A bar for the median, a line from the least to the most.
fn figure(title: &str, unit: &str, [rdma, tcp]: [&MedianRange; 2], hint: &str) -> Markup {
    let bars = [("RDMA", "one", rdma, 0.0), ("TCP", "two", tcp, 60.0)];
    let largest = rdma.most.max(tcp.most);
    let scale = LinearScale::up_to(largest);
    let label = format!(
        "{title}: RDMA {} {unit}, TCP {} {unit}, medians.",
        number::gbps(rdma.median),
        number::gbps(tcp.median)
    );
    let rows = html! {
        @for (name, _, middle, _) in &bars {
            tr {
                th scope="row" { (name) }
                td.number { (number::gbps(middle.least)) }
                td.number { (number::gbps(middle.median)) }
                td.number { (number::gbps(middle.most)) }
                td.number { (middle.count) }
            }
        }
    };
    html! {
        figure {
            figcaption { h3 { (title) } p.small.quiet { (hint) " Bars are medians, lines reach from the least to the most." } }
            svg viewBox="0 0 480 168" role="img" aria-label=(label) {
                g.axis aria-hidden="true" {
                    @for value in &scale.ticks {
                        @let x = FRAME.along(scale.share(*value));
                        line.grid x1=(at(x)) x2=(at(x)) y1=(at(FRAME.top)) y2=(at(FRAME.bottom())) {}
                        text x=(at(x)) y=(at(FRAME.bottom() + 18.0)) text-anchor="middle" { (tick(*value)) }
                    }
                    text x=(at(FRAME.right())) y=(at(FRAME.bottom() + 36.0)) text-anchor="end" { (unit) }
                }
                @for (name, class, middle, y) in &bars {
                    @let top = FRAME.top + 12.0 + y;
                    @let end = FRAME.along(scale.share(middle.median));
                    @let most = FRAME.along(scale.share(middle.most));
                    text.strong x=(at(FRAME.left - 10.0)) y=(at(top + 19.0)) text-anchor="end" { (name) }
                    rect class=(class) x=(at(FRAME.left)) y=(at(top)) width=(at((end - FRAME.left).max(1.0))) height="28" rx="3" {}
                    line.base x1=(at(FRAME.along(scale.share(middle.least)))) x2=(at(most)) y1=(at(top + 34.0)) y2=(at(top + 34.0)) {}
                    text.strong.halo x=(at(end + 8.0)) y=(at(top + 19.0)) { (number::gbps(middle.median)) }
                }
            }
            (folded(&format!("{title}, as a table"), &["", "least", "median", "most", "paths"], &rows))
        }
    }
}
