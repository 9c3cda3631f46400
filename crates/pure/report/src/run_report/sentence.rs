//! The verdict in one sentence.

use crosstie_model::{Severity, run::StoredRun};

use super::{Grade, PairReport, RunReport, RunSummary, build::middle};

pub(super) fn counts(run: &StoredRun, pairs: &[PairReport]) -> RunSummary {
    let number = |grade: Grade| pairs.iter().filter(|pair| pair.verdict == grade).count();
    let graded = || pairs.iter().filter(|pair| pair.verdict.is_graded());
    let figures = |of: fn(&PairReport) -> bool| {
        let pairs = pairs
            .iter()
            .filter(|pair| pair.is_undisturbed() && of(pair));
        let figures: Vec<f64> = pairs.filter_map(|pair| pair.gbps).collect();
        middle(&figures)
    };
    let latencies = |kind: &str| {
        let pairs = pairs
            .iter()
            .filter(|pair| pair.kind == kind && pair.is_undisturbed());
        let figures = pairs.filter_map(|pair| Some(pair.latency_us.as_ref()?.p50));
        middle(&figures.collect::<Vec<f64>>())
    };
    RunSummary {
        verdict: Grade::NotGraded,
        sentence: String::new(),
        first: None,
        nodes: run.header.nodes.len(),
        cables: run.header.cabling.len(),
        measurements: run.measurements.len(),
        graded: graded().count(),
        healthy: number(Grade::Healthy),
        warnings: number(Grade::Warning),
        faults: number(Grade::Fault),
        failed: number(Grade::Failed),
        lowest_percent: graded().filter_map(|pair| pair.percent).min(),
        rdma_gbps: figures(|pair| {
            pair.is_rdma_bandwidth() && (pair.verdict.is_graded() || is_large(pair))
        }),
        tcp_gbps: figures(|pair| pair.kind == "tcp-bandwidth"),
        rdma_latency_us: latencies("rdma-latency"),
        tcp_latency_us: latencies("tcp-latency"),
    }
}

fn is_large(pair: &PairReport) -> bool {
    pair.size
        .is_some_and(|size| size >= crosstie_grade::graded::LEAST_GRADED_SIZE)
}

/// Verdict and words, once everything else is known.
pub(super) fn summarise(report: &mut RunReport) {
    let grades = report.pairs.iter().map(|pair| pair.verdict);
    let grades = grades.chain(report.rail_sums.iter().map(|sum| sum.verdict));
    let findings = report
        .findings
        .iter()
        .filter_map(|finding| match finding.severity {
            Severity::Fault => Some(Grade::Fault),
            Severity::Warning => Some(Grade::Warning),
            Severity::Info => None,
        });
    let worst = grades.chain(findings).max().unwrap_or(Grade::NotGraded);
    let lost = if report.lost.is_empty() {
        worst
    } else {
        worst.max(Grade::Failed)
    };
    report.summary.verdict = lost.max(Grade::NotGraded);
    report.summary.sentence = sentence(report);
    report.summary.first = first(report);
}

fn sentence(report: &RunReport) -> String {
    let summary = &report.summary;
    let nodes = summary.nodes;
    let mut parts = Vec::new();
    if !report.lost.is_empty() {
        parts.push(format!("{} went away", many(report.lost.len(), "node")));
    }
    if summary.failed > 0 {
        parts.push(format!("{} gave no figure", many(summary.failed, "test")));
    }
    let low = summary.warnings + summary.faults;
    if low > 0 {
        let lowest = summary.lowest_percent.unwrap_or(0);
        parts.push(format!(
            "{low} of {} fall{} short of {}, the lowest at {lowest} %",
            many(summary.graded, "graded path"),
            if low == 1 { "s" } else { "" },
            measure(report),
        ));
    }
    let body = match (parts.is_empty(), summary.graded) {
        (false, _) => parts.join("; "),
        (true, 0) if summary.measurements == 0 => "nothing was measured".to_owned(),
        (true, 0) if report.unmeasured().is_some() => {
            format!(
                "no figure was measured: {}",
                report.unmeasured().unwrap_or_default()
            )
        }
        (true, 0) => {
            "measured, not graded: there is nothing to hold the figures against".to_owned()
        }
        (true, graded) if summary.verdict == Grade::Healthy => format!(
            "{} between {} carr{} {}",
            if graded == 1 {
                "the path".to_owned()
            } else {
                format!("all {graded} paths")
            },
            many(nodes, "node"),
            if graded == 1 { "ies" } else { "y" },
            measure(report),
        ),
        (true, graded) => format!(
            "each of {} is healthy, and something else is not",
            many(graded, "path")
        ),
    };
    let begun = match report.end.state {
        "finished" => body,
        state => format!("{}: {body}", unfinished(state)),
    };
    let mut letters = begun.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str() + "."
}

impl RunReport {
    /// Why no test gave a figure, where none did; reachability has none to give.
    pub fn unmeasured(&self) -> Option<&str> {
        let mut tests = self.pairs.iter().filter(|pair| pair.kind != "reachability");
        let has_figure = |pair: &PairReport| pair.gbps.is_some() || pair.latency_us.is_some();
        if tests.clone().any(has_figure) {
            return None;
        }
        let why = tests.find_map(|pair| pair.why.as_deref());
        Some(why.unwrap_or("no test was made"))
    }
}

/// What figures are held against. Software devices have no ceiling of their own.
fn measure(report: &RunReport) -> &'static str {
    let mut ports = report.nodes.iter().flat_map(|node| &node.ports);
    let is_software = ports.all(|port| port.link_layer.as_deref() == Some("software"));
    match (is_software, report.options.declared_rate_gbps) {
        (false, _) => "what the hardware allows",
        (true, Some(_)) => "what the cluster file gives them",
        (true, None) => "what the others do, and more is not known of software devices",
    }
}

fn unfinished(state: &str) -> &'static str {
    match state {
        "interrupted" => "interrupted before everything was tested",
        "failed" => "failed before everything was tested",
        _ => "cut off before everything was tested",
    }
}

/// The worst finding in words.
fn first(report: &RunReport) -> Option<String> {
    let roots = report.findings.iter().filter(|one| one.caused_by.is_none());
    let worst = roots
        .filter(|one| one.severity != Severity::Info)
        .min_by_key(|one| one.severity)?;
    Some(format!("{}: {}", worst.subject, worst.cause))
}

fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
