//! From a graded run to what is shown of it.

use crosstie_grade::{
    BandwidthLedger, FigureVerdict, GradedPath, GradedRun, LikelyLimit, RailSum, statistics::median,
};
use crosstie_model::{
    Finding,
    run::{
        LatencyFigures, MeasurementOutcome, ProofMode, RunEndReason, RunNode, RunOptions, RunPort,
        StoredRun,
    },
};

use super::{
    EndReport, FORMAT, Grade, LatencyReport, LedgerLine, LedgerReport, LostNodeReport, MedianRange,
    NodeFactRow, OptionsReport, PairReport, PortReport, RailSumReport, ReplacedNameCount,
    RunNodeReport, RunReport, cables, histogram, matrix, sentence, sizes,
};

/// Findings are those of this run; `replaced` is what was done to its names.
pub fn run_report(
    graded: &GradedRun,
    findings: Vec<Finding>,
    replaced: Option<Vec<ReplacedNameCount>>,
) -> RunReport {
    let run = graded.run;
    let header = &run.header;
    let pairs: Vec<PairReport> = graded.cells.iter().map(pair).collect();
    let lost = run.lost.iter().map(|lost| LostNodeReport {
        host: lost.host.clone(),
        why: lost.why.clone(),
        milliseconds: lost.offset_milliseconds,
    });
    let mut report = RunReport {
        format: FORMAT,
        cluster: header.cluster.clone(),
        started: header.started.clone(),
        crosstie: header.crosstie.clone(),
        options: options(&header.options),
        end: end(run),
        summary: sentence::counts(run, &pairs),
        nodes: header.nodes.iter().map(node).collect(),
        cables: cables::cables(graded),
        matrix: matrix::matrix(graded),
        sizes: sizes::sizes(run),
        size_series: sizes::series(run),
        latency_histogram: histogram::histogram(run),
        rail_sums: graded.rail_sums.iter().filter_map(rail_sum).collect(),
        pairs,
        lost: lost.collect(),
        findings,
        replaced,
    };
    sentence::summarise(&mut report);
    report
}

fn options(options: &RunOptions) -> OptionsReport {
    let (mode, soak_seconds) = match options.mode {
        ProofMode::Quick => ("quick", None),
        ProofMode::Full => ("full", None),
        ProofMode::Soak { seconds } => ("soak", Some(seconds)),
    };
    OptionsReport {
        mode,
        soak_seconds,
        test_milliseconds: options.test_milliseconds,
        sizes: options.sizes.clone(),
        queue_pairs: options.queue_pairs.clone(),
        declared_rate_gbps: options.rate_gbps.map(|rate| rate.0),
    }
}

fn end(run: &StoredRun) -> EndReport {
    let Some(end) = &run.end else {
        let last = run.measurements.iter().map(|one| one.offset_milliseconds);
        return EndReport {
            state: "cut-off",
            error: None,
            milliseconds: last.max().unwrap_or(0),
        };
    };
    let (state, error) = match &end.reason {
        RunEndReason::Finished => ("finished", None),
        RunEndReason::Interrupted => ("interrupted", None),
        RunEndReason::Failed { error } => ("failed", Some(error.clone())),
    };
    EndReport {
        state,
        error,
        milliseconds: end.offset_milliseconds,
    }
}

fn node(node: &RunNode) -> RunNodeReport {
    let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(", "));
    let facts = [
        ("Machine", node.machine.clone()),
        ("Architecture", node.arch.clone()),
        ("System", node.distro.clone()),
        ("Kernel", node.kernel.clone()),
        ("RDMA driver", node.rdma_driver.clone()),
        ("rdma-core", node.rdma_core.clone()),
        ("GPUs", joined(&node.gpus)),
        ("GPU driver", node.gpu_driver.clone()),
        ("NCCL", joined(&node.nccl)),
        (
            "Card",
            node.hot_plugged
                .then(|| "started by plugging in the cable".to_owned()),
        ),
    ];
    let facts = facts.into_iter();
    RunNodeReport {
        host: node.host.clone(),
        facts: facts
            .filter_map(|(what, value)| {
                Some(NodeFactRow {
                    what,
                    value: value?,
                })
            })
            .collect(),
        ports: node.ports.iter().map(port).collect(),
    }
}

fn port(port: &RunPort) -> PortReport {
    let links = port.pcie.iter();
    let narrowest = links.min_by(|a, b| a.gbps.0.total_cmp(&b.gbps.0));
    PortReport {
        device: port.device.clone(),
        interface: port.interface.clone(),
        cage: port.cage.clone(),
        model: port.model.clone(),
        firmware: port.firmware.clone(),
        link_layer: if port.software {
            Some("software".to_owned())
        } else {
            port.link_layer.as_ref().map(ToString::to_string)
        },
        rate_gbps: port.rate_gbps.map(|rate| rate.0),
        interface_mtu: port.interface_mtu.map(|mtu| mtu.0),
        path_mtu: port.path_mtu.map(|mtu| mtu.0),
        pcie: narrowest.map(|link| format!("{} x{}", link.speed, link.width)),
        pcie_gbps: narrowest.map(|link| link.gbps.0),
    }
}

pub(super) fn grade(verdict: FigureVerdict) -> Grade {
    match verdict {
        FigureVerdict::Healthy => Grade::Healthy,
        FigureVerdict::Warning => Grade::Warning,
        FigureVerdict::Fault => Grade::Fault,
        FigureVerdict::NotGraded(_) => Grade::NotGraded,
        FigureVerdict::Failed => Grade::Failed,
        FigureVerdict::NotApplicable => Grade::NotApplicable,
    }
}

fn pair(cell: &GradedPath) -> PairReport {
    let best = cell.best;
    let why = match (&best.outcome, cell.verdict) {
        (
            MeasurementOutcome::Failed { error: why }
            | MeasurementOutcome::NotApplicable { reason: why },
            _,
        ) => Some(why.clone()),
        (_, FigureVerdict::NotGraded(why)) => Some(why.words().to_owned()),
        _ => None,
    };
    PairReport {
        from: best.from.host.clone(),
        to: best.to.host.clone(),
        from_device: best.from.device.clone().or(best.from.interface.clone()),
        to_device: best.to.device.clone().or(best.to.interface.clone()),
        rail: best.from.rail,
        kind: best.kind.name(),
        phase: best.phase.name(),
        size: best.size,
        queue_pairs: best.queue_pairs,
        gbps: cell.gbps,
        ceiling_gbps: cell.ceiling.as_ref().map(|ceiling| ceiling.gbps),
        percent: cell.percent,
        worst_gbps: best
            .bandwidth()
            .and_then(|figures| figures.window_gbps().min_by(f64::total_cmp)),
        latency_us: best.latency().map(latency),
        verdict: grade(cell.verdict),
        why,
        limit: limit(&cell.limits),
        ledger: cell.ledger.as_ref().map(ledger),
        doubts: best.doubts.clone(),
    }
}

fn limit(limits: &[LikelyLimit]) -> Option<String> {
    let words: Vec<String> = limits.iter().map(ToString::to_string).collect();
    (!words.is_empty()).then(|| words.join(", or "))
}

#[allow(clippy::cast_precision_loss)] // 2^53 ns are a hundred days
fn latency(figures: &LatencyFigures) -> LatencyReport {
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
    LatencyReport {
        min: microseconds(figures.least),
        p50: microseconds(figures.p50),
        p99: microseconds(figures.p99),
        p999: microseconds(figures.p999),
        max: microseconds(figures.most),
        count: figures.count,
    }
}

fn ledger(ledger: &BandwidthLedger) -> LedgerReport {
    let deductions = ledger.deductions.iter().map(|one| LedgerLine {
        what: one.what.clone(),
        gbps: one.gbps,
        at_most: false,
        evidence: Vec::new(),
    });
    let losses = ledger.shares.iter().map(|share| {
        let causes: Vec<String> = share.causes.iter().map(|cause| cause.words()).collect();
        let evidence = share.evidence.iter();
        LedgerLine {
            what: causes.join(", or "),
            gbps: share.gbps,
            at_most: share.at_most,
            evidence: evidence
                .map(|(what, value)| format!("{what}: {value}"))
                .collect(),
        }
    });
    LedgerReport {
        port_rate: ledger.port_rate,
        deductions: deductions.collect(),
        ceiling: ledger.ceiling,
        losses: losses.collect(),
        unexplained: ledger.unexplained,
        measured: ledger.measured,
    }
}

fn rail_sum(sum: &RailSum) -> Option<RailSumReport> {
    let first = sum.rails.first()?;
    Some(RailSumReport {
        from: first.from.host.clone(),
        to: first.to.host.clone(),
        rails: sum.rails.len(),
        gbps: sum.gbps,
        ceiling_gbps: sum.ceiling.as_ref().map(|ceiling| ceiling.gbps),
        percent: sum.percent,
        verdict: grade(sum.verdict),
        limit: limit(&sum.limits),
    })
}

pub(super) fn middle(values: &[f64]) -> Option<MedianRange> {
    Some(MedianRange {
        count: values.len(),
        least: values.iter().copied().min_by(f64::total_cmp)?,
        median: median(values)?,
        most: values.iter().copied().max_by(f64::total_cmp)?,
    })
}
