//! Where the bandwidth went, as a waterfall.

use maud::{Markup, html};

use super::{
    chart::{LinearScale, PlotArea, at, shortened, tick},
    number,
    table::{MOST_ROWS, badge, folded, left_out},
};
use crate::run_report::{LedgerLine, LedgerReport, PairReport, RunReport};

/// A label, and a bar below it.
const ROW: f64 = 46.0;
const BAR: f64 = 16.0;
const LEFT: f64 = 10.0;
const WIDTH: f64 = 460.0;

pub(super) fn section(report: &RunReport) -> Markup {
    let graded = report
        .graded()
        .filter_map(|pair| Some((pair, pair.ledger.as_ref()?)));
    let mut ledgers: Vec<(&PairReport, &LedgerReport)> = graded.collect();
    ledgers.sort_by_key(|(pair, _)| (pair.percent, pair.rail));
    html! {
        section id="ledger" aria-labelledby="ledger-title" {
            h2 id="ledger-title" { "Where the bandwidth goes" }
            @if ledgers.is_empty() {
                p.lead { "No figure is held against a ceiling, so there is nothing to account for." }
            } @else {
                p.lead {
                    "From the port's rate, packet headers and PCI Express leave the ceiling. What is missing below it goes to causes that were measured; "
                    "the rest is unexplained, and said so."
                    @if ledgers.len() > 2 { " Drawn are the lowest and the highest of " (ledgers.len()) " paths." }
                }
                div.charts {
                    @for (pair, ledger) in drawn(&ledgers) { (figure(pair, ledger)) }
                }
                (every(&ledgers))
            }
        }
    }
}

type Entry<'a> = (&'a PairReport, &'a LedgerReport);

/// What is wrong, and what right looks like beside it.
fn drawn<'a>(ledgers: &[Entry<'a>]) -> Vec<Entry<'a>> {
    match ledgers {
        [] => Vec::new(),
        [one] => vec![*one],
        [lowest, .., highest] => vec![*lowest, *highest],
    }
}

fn every(ledgers: &[Entry]) -> Markup {
    let sum = |lines: &[LedgerLine]| {
        lines
            .iter()
            .map(|line| line.what.as_str())
            .collect::<Vec<_>>()
            .join("; ")
    };
    let rows = html! {
        @for (pair, ledger) in ledgers.iter().take(MOST_ROWS) {
            tr {
                td { (pair.from) " → " (pair.to) }
                td.number { (pair.rail) }
                td.number { (number::gbps(ledger.port_rate)) }
                td.number { (number::gbps(ledger.ceiling)) }
                td.number { (number::gbps(ledger.measured)) }
                td.number { (number::gbps(ledger.unexplained)) }
                td { (sum(&ledger.losses)) }
            }
        }
    };
    let columns = [
        "path",
        "rail",
        "port rate",
        "ceiling",
        "measured",
        "unexplained",
        "measured causes",
    ];
    html! {
        (folded("The ledger of every path, the lowest first", &columns, &rows))
        (left_out(MOST_ROWS, ledgers.len()))
    }
}

/// One bar: what it is, from where to where, and how it is painted.
struct Step<'a> {
    what: &'a str,
    from: f64,
    to: f64,
    class: &'static str,
    value: String,
    evidence: &'a [String],
}

fn steps(ledger: &LedgerReport) -> Vec<Step<'_>> {
    let whole = |what, value: f64, class| Step {
        what,
        from: 0.0,
        to: value,
        class,
        value: number::gbps(value),
        evidence: &[],
    };
    let taken = |line: &LedgerLine| {
        let sign = if line.at_most { "at most −" } else { "−" };
        format!("{sign}{}", number::gbps(line.gbps))
    };
    let mut steps = vec![whole("port rate", ledger.port_rate, "keep")];
    let losses = ledger.losses.iter().map(|line| (line, "cause"));
    let deductions = ledger.deductions.iter().map(|line| (line, "taken"));
    let mut left = ledger.port_rate;
    for (line, class) in deductions {
        steps.push(step(line, class, &mut left, taken(line)));
    }
    steps.push(whole("ceiling", ledger.ceiling, "keep"));
    left = ledger.ceiling;
    for (line, class) in losses {
        steps.push(step(line, class, &mut left, taken(line)));
    }
    if ledger.unexplained > 0.0 {
        steps.push(Step {
            what: "unexplained",
            from: left - ledger.unexplained,
            to: left,
            class: "unknown",
            value: format!("−{}", number::gbps(ledger.unexplained)),
            evidence: &[],
        });
    }
    steps.push(whole("measured", ledger.measured, "got"));
    steps
}

fn step<'a>(line: &'a LedgerLine, class: &'static str, left: &mut f64, value: String) -> Step<'a> {
    let to = *left;
    *left -= line.gbps;
    Step {
        what: &line.what,
        from: left.max(0.0),
        to,
        class,
        value,
        evidence: &line.evidence,
    }
}

#[allow(clippy::cast_precision_loss)] // a dozen rows
fn figure(pair: &PairReport, ledger: &LedgerReport) -> Markup {
    let steps = steps(ledger);
    let frame = PlotArea {
        left: LEFT,
        top: 4.0,
        width: WIDTH,
        height: ROW * steps.len() as f64,
    };
    let scale = LinearScale::up_to(ledger.port_rate.max(ledger.measured));
    let height = frame.bottom() + 40.0;
    let title = format!("{} → {}, rail {}", pair.from, pair.to, pair.rail);
    let said: Vec<String> = steps
        .iter()
        .map(|step| format!("{} {}", step.what, step.value))
        .collect();
    let label = format!("Bandwidth of {title} in Gb/s: {}.", said.join(", "));
    html! {
        figure {
            figcaption {
                h3 { (title) " " (badge(pair.verdict)) }
                p.small.quiet {
                    @if let Some(percent) = pair.percent { (number::percent(percent)) " of its ceiling" }
                    @if let Some(limit) = &pair.limit { "; looks like " (limit) }
                }
            }
            svg viewBox=(format!("0 0 480 {}", at(height))) role="img" aria-label=(label) {
                (axis(frame, &scale))
                @let ceiling = at(frame.along(scale.share(ledger.ceiling)));
                line.limit x1=(ceiling) x2=(ceiling) y1=(at(frame.top)) y2=(at(frame.bottom())) {}
                @for (index, step) in steps.iter().enumerate() {
                    (bar(frame, &scale, step, frame.top + ROW * index as f64))
                }
            }
            (table(&steps, &title))
        }
    }
}

fn axis(frame: PlotArea, scale: &LinearScale) -> Markup {
    html! {
        g.axis aria-hidden="true" {
            @for value in &scale.ticks {
                @let x = frame.along(scale.share(*value));
                line.grid x1=(at(x)) x2=(at(x)) y1=(at(frame.top)) y2=(at(frame.bottom())) {}
                @let anchor = if *value == 0.0 { "start" } else if *value >= scale.most { "end" } else { "middle" };
                text x=(at(x)) y=(at(frame.bottom() + 16.0)) text-anchor=(anchor) { (tick(*value)) }
            }
            text x=(at(frame.right())) y=(at(frame.bottom() + 34.0)) text-anchor="end" { "Gb/s" }
        }
    }
}

fn bar(frame: PlotArea, scale: &LinearScale, step: &Step, top: f64) -> Markup {
    let (from, to) = (
        frame.along(scale.share(step.from)),
        frame.along(scale.share(step.to)),
    );
    html! {
        text.halo x=(at(frame.left)) y=(at(top + 15.0)) { (shortened(step.what, 48)) }
        text.strong.halo x=(at(frame.right())) y=(at(top + 15.0)) text-anchor="end" { (step.value) }
        rect class=(step.class) x=(at(from)) y=(at(top + 21.0)) width=(at((to - from).max(1.5))) height=(at(BAR)) rx="2" {}
    }
}

fn table(steps: &[Step], title: &str) -> Markup {
    let rows = html! {
        @for step in steps {
            tr {
                td { (step.what) }
                td.number { (step.value) }
                td { @for evidence in step.evidence { div { (evidence) } } }
            }
        }
    };
    folded(
        &format!("{title}, as a table"),
        &["", "Gb/s", "evidence"],
        &rows,
    )
}
