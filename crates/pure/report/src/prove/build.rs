//! From a run to what is printed of it.

use crosstie_doctor::Diagnosis;
use crosstie_grade::{
    BandwidthLedger, FigureVerdict, GradedPath, GradedRun, RailSum, attribute::untested,
    compare::compare,
};
use crosstie_model::{
    Severity,
    run::{LatencyFigures, MeasurementOutcome, ProofMode, StoredRun},
};

use super::{
    DifferenceRow, FORMAT, LatencyRow, LedgerRow, LedgerRows, PairRow, ProveReport, ProvenNode,
    RailsRow, UntestedPaths,
};
use crate::{HostFinding, document::NodeFailure};

/// Paths that were not tested and are named.
const EXAMPLES: usize = 8;

impl ProveReport {
    /// With what the doctor says of the nodes and of the run together: a finding may explain any other. Without a run
    /// nothing could be measured, for those nodes that could not be read.
    pub fn examined(
        run: Option<&StoredRun>,
        before: Option<&StoredRun>,
        diagnosis: &Diagnosis,
        unread: &[NodeFailure],
    ) -> Self {
        let mut measured = run.map_or_else(Self::nothing, |run| Self::new(run, before));
        for NodeFailure { host, error } in unread {
            measured.nodes.push(ProvenNode {
                host: host.clone(),
                kernel: None,
                rdma_driver: None,
                gpu_driver: None,
                nccl: Vec::new(),
                lost: Some(error.clone()),
            });
        }
        Self {
            findings: HostFinding::of_diagnosis(diagnosis),
            ..measured
        }
    }

    fn nothing() -> Self {
        Self {
            format: FORMAT,
            started: String::new(),
            cluster: None,
            mode: "none".to_owned(),
            finished: false,
            nodes: Vec::new(),
            pairs: Vec::new(),
            rails: Vec::new(),
            collectives: Vec::new(),
            findings: Vec::new(),
            untested: UntestedPaths {
                paths: 0,
                untested: 0,
                examples: Vec::new(),
            },
            changes: Vec::new(),
        }
    }

    /// Reachability aside, no test gave a figure.
    pub fn is_unmeasured(&self) -> bool {
        self.tests()
            .all(|pair| pair.gbps.is_none() && pair.latency_us.is_none())
    }

    /// Why no test gave a figure, where none did.
    pub fn unmeasured(&self) -> Option<String> {
        let why = || self.tests().find_map(|pair| pair.reason.clone());
        self.is_unmeasured()
            .then(|| why().unwrap_or_else(|| "no test gave a figure".to_owned()))
    }

    fn tests(&self) -> impl Iterator<Item = &PairRow> {
        self.pairs.iter().filter(|pair| pair.kind != "reachability")
    }

    /// Nothing was measured, and nothing is known to be broken either.
    pub fn is_undecided(&self) -> bool {
        let mut findings = self.findings.iter().map(|found| found.finding.severity);
        self.is_unmeasured() && !findings.any(|severity| severity == Severity::Fault)
    }

    /// Something is broken, or could not be measured.
    pub fn has_faults(&self) -> bool {
        let mut findings = self.findings.iter().map(|found| found.finding.severity);
        let mut pairs = self.pairs.iter().map(|pair| pair.verdict.as_str());
        findings.any(|severity| severity == Severity::Fault)
            || pairs.any(|verdict| matches!(verdict, "fault" | "failed"))
            || self.is_cut_off()
    }

    /// A run that was begun, and not ended.
    fn is_cut_off(&self) -> bool {
        let is_begun = !self.started.is_empty();
        is_begun && !self.finished
    }

    /// Of a run, and what changed since an earlier one.
    pub fn new(run: &StoredRun, before: Option<&StoredRun>) -> Self {
        let graded = GradedRun::new(run);
        let mode = match run.header.options.mode {
            ProofMode::Quick => "quick",
            ProofMode::Full => "full",
            ProofMode::Soak { .. } => "soak",
        };
        let untested = untested(run, EXAMPLES);
        let changes = before.map_or_else(Vec::new, |before| compare(before, run));
        Self {
            format: FORMAT,
            started: run.header.started.clone(),
            cluster: run.header.cluster.clone(),
            mode: mode.to_owned(),
            finished: run.is_finished(),
            nodes: nodes(run),
            pairs: graded.cells.iter().map(pair).collect(),
            rails: graded.rail_sums.iter().filter_map(rails).collect(),
            collectives: Vec::new(),
            findings: HostFinding::of_run(run),
            untested: UntestedPaths {
                paths: untested.paths,
                untested: untested.untested,
                examples: untested
                    .examples
                    .into_iter()
                    .map(|(a, b)| [a.host, b.host])
                    .collect(),
            },
            changes: changes
                .into_iter()
                .map(|change| DifferenceRow {
                    what: change.what.words().to_owned(),
                    subject: change.subject,
                    before: change.before,
                    after: change.after,
                })
                .collect(),
        }
    }
}

fn nodes(run: &StoredRun) -> Vec<ProvenNode> {
    let lost = |host: &str| {
        let lost = run.lost.iter().find(|lost| lost.host == host);
        lost.map(|lost| lost.why.clone())
    };
    let nodes = run.header.nodes.iter().map(|node| ProvenNode {
        host: node.host.clone(),
        kernel: node.kernel.clone(),
        rdma_driver: node.rdma_driver.clone(),
        gpu_driver: node.gpu_driver.clone(),
        nccl: node.nccl.clone(),
        lost: lost(&node.host),
    });
    nodes.collect()
}

fn pair(cell: &GradedPath) -> PairRow {
    let best = cell.best;
    let reason = match (&best.outcome, cell.verdict) {
        (
            MeasurementOutcome::Failed { error: reason }
            | MeasurementOutcome::NotApplicable { reason },
            _,
        ) => Some(reason.clone()),
        (MeasurementOutcome::Measured(_), FigureVerdict::NotGraded(why)) => {
            Some(why.words().to_owned())
        }
        (MeasurementOutcome::Measured(_), _) => None,
    };
    PairRow {
        from: best.from.host.clone(),
        to: best.to.host.clone(),
        rail: best.from.rail,
        kind: best.kind.name().to_owned(),
        phase: best.phase.name().to_owned(),
        size: best.size,
        queue_pairs: best.queue_pairs,
        gbps: cell.gbps.map(rounded),
        ceiling_gbps: cell.ceiling.as_ref().map(|ceiling| rounded(ceiling.gbps)),
        percent: cell.percent,
        latency_us: best.latency().map(latency),
        verdict: cell.verdict.name().to_owned(),
        reason,
        limits: cell.limits.iter().map(ToString::to_string).collect(),
        ledger: cell.ledger.as_ref().map(ledger),
        doubts: best.doubts.clone(),
    }
}

fn rails(sum: &RailSum) -> Option<RailsRow> {
    let first = sum.rails.first()?;
    let figure = |rail: &&crosstie_model::run::Measurement| {
        let figures = rail.bandwidth()?;
        figures.gbps().map(rounded)
    };
    Some(RailsRow {
        from: first.from.host.clone(),
        to: first.to.host.clone(),
        gbps: rounded(sum.gbps),
        ceiling_gbps: sum.ceiling.as_ref().map(|ceiling| rounded(ceiling.gbps)),
        percent: sum.percent,
        verdict: sum.verdict.name().to_owned(),
        limits: sum.limits.iter().map(ToString::to_string).collect(),
        rails: sum.rails.iter().map(figure).collect(),
    })
}

fn ledger(ledger: &BandwidthLedger) -> LedgerRows {
    let deductions = ledger.deductions.iter().map(|one| LedgerRow {
        what: one.what.clone(),
        gbps: rounded(one.gbps),
        at_most: false,
    });
    let causes = ledger.shares.iter().map(|share| {
        let words: Vec<String> = share.causes.iter().map(|cause| cause.words()).collect();
        LedgerRow {
            what: words.join(", or "),
            gbps: rounded(share.gbps),
            at_most: share.at_most,
        }
    });
    LedgerRows {
        port_rate: rounded(ledger.port_rate),
        deductions: deductions.collect(),
        ceiling: rounded(ledger.ceiling),
        causes: causes.collect(),
        unexplained: rounded(ledger.unexplained),
        measured: rounded(ledger.measured),
    }
}

fn latency(figures: &LatencyFigures) -> LatencyRow {
    #[allow(clippy::cast_precision_loss)] // nanoseconds of a message
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
    LatencyRow {
        min: microseconds(figures.least),
        p50: microseconds(figures.p50),
        p99: microseconds(figures.p99),
        p999: microseconds(figures.p999),
        max: microseconds(figures.most),
    }
}

/// Thousandths: enough for a lab's megabits.
fn rounded(gbps: f64) -> f64 {
    (gbps * 1000.0).round() / 1000.0
}
