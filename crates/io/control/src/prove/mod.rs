//! Every pair and rail of a cluster, measured as [`Campaign`] wants it, and stored while it goes on.
//!
//! ```text
//! nodes ─▶ header ─▶ campaign ─step─▶ reachability, TCP, RDMA, with counters around ─results─▶ campaign ─▶ run, on disk
//! ```

mod counters;
mod driver;
mod engines;
mod file;
mod header;
mod reachability;
mod requests;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_doctor::{CheckSelection, Diagnosis};
use crosstie_grade::proof::{TestBatch, TestEndTable, TestResult};
use crosstie_model::{
    ClusterSpec, Facts,
    run::{CounterGrowth, LostNode, MeasurementOutcome, ProofMode, RunHeader, StoredRun, TestKind},
    word,
};
use crosstie_report::{document::NodeFailure, html::run_page, run_report::report_of};

use crate::{
    ControlEvent, Fleet, FleetSnapshot, NodeFacts, RequestedTargets, SnapshotError, TargetsError,
    doctor::examine_with,
    files,
    runs::{RunsError, new_run_path, read_run, runs},
};
use driver::{ProofEnvironment, ProveProgress, TestBatchOutcome, TestBatchRunner, run_proof};
pub use file::{RunFile, RunFileError};
pub use header::{PortSkipReason, SkippedPort, Unmeasurable};

#[derive(Debug, Clone)]
pub struct ProveOptions {
    pub mode: ProofMode,
    /// Of each test.
    pub test_time: Duration,
    /// Also rails that carry management, and devices that programs use.
    pub force: bool,
    /// A page is made of the run.
    pub report: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("a proof is of two nodes or more, and {0} was named")]
    OneNode(usize),
    #[error(transparent)]
    Unmeasurable(#[from] Unmeasurable),
    #[error(transparent)]
    Runs(#[from] RunsError),
    #[error(transparent)]
    File(#[from] RunFileError),
}

/// What was measured, and where it is kept.
#[derive(Debug)]
pub struct SavedRun {
    pub run: StoredRun,
    pub path: PathBuf,
    /// The page of it, beside it.
    pub page: Option<PathBuf>,
    /// Ports that were left alone, and why.
    pub refused: Vec<SkippedPort>,
}

impl SavedRun {
    /// What is said beside the figures: ports that were left alone, and where the run is.
    pub fn remarks(&self) -> String {
        let refused = self.refused.iter().map(|port| format!("{port}\n"));
        let run = format!("the run is in {}\n", self.path.display());
        let page = self.page.as_ref();
        let page = page.map(|page| format!("the report is {}\n", page.display()));
        refused.chain([run]).chain(page).collect()
    }
}

/// A run, what the doctor says with it, and the run before it.
#[derive(Debug)]
pub struct ProofResult {
    /// Absent where nothing could be measured.
    pub measured: Option<SavedRun>,
    pub diagnosis: Diagnosis,
    /// The last one of these nodes, where there is one.
    pub before: Option<StoredRun>,
    /// Nodes that could not be read, so that nothing was measured.
    pub unread: Vec<NodeFailure>,
}

/// Everything between live nodes, and what it means. Where nothing can be measured, the doctor says why.
pub fn prove(
    targets: &RequestedTargets,
    options: &ProveOptions,
) -> Result<ProofResult, ProveError> {
    let (spec, fleet) = targets.find_live(false)?;
    let spec = spec.as_ref();
    let (measured, unread) = match FleetSnapshot::take(&fleet).known() {
        // Without a cluster file nobody knows what a node that does not answer is cabled to.
        Err(SnapshotError::Unread(failed)) if spec.is_some() => (None, failed.failures()),
        known => (Some(known?), Vec::new()),
    };
    let before = last_run(spec);
    let measured = measured.map(|nodes| prepare(&nodes, spec, options)?.measure(&fleet, options));
    let measured = match measured {
        Some(Err(ProveError::Unmeasurable(Unmeasurable::NoRail))) if spec.is_some() => None,
        measured => measured.transpose()?,
    };
    // What went wrong meanwhile shows in the facts as well.
    let after = FleetSnapshot::take(&fleet);
    let runs = measured.as_ref().map(|measured| &measured.run);
    let runs: &[StoredRun] = runs.map_or(&[], std::slice::from_ref);
    let diagnosis = examine_with(&after, &[], runs, spec, CheckSelection::default());
    Ok(ProofResult {
        measured,
        diagnosis,
        before,
        unread,
    })
}

/// The last one that can be read; a file that cannot is no reason not to measure.
pub(crate) fn last_run(spec: Option<&ClusterSpec>) -> Option<StoredRun> {
    let paths = runs(cluster(spec)).ok()?;
    paths.iter().rev().find_map(|path| match read_run(path) {
        Ok(run) => Some(run),
        Err(error) => {
            tracing::warn!("left out of the comparison: {}", crate::chain_of(&error));
            None
        }
    })
}

/// What a run is to be taken of.
pub(crate) struct PreparedRun {
    facts: Vec<Facts>,
    header: RunHeader,
    /// Ports that are left alone, and why.
    pub(crate) refused: Vec<SkippedPort>,
}

/// Two nodes at least; they are in the fleet's order.
pub(crate) fn prepare(
    nodes: &[NodeFacts],
    spec: Option<&ClusterSpec>,
    options: &ProveOptions,
) -> Result<PreparedRun, ProveError> {
    if nodes.len() < 2 {
        return Err(ProveError::OneNode(nodes.len()));
    }
    let facts: Vec<Facts> = nodes.iter().map(|node| (*node.facts).clone()).collect();
    let (header, refused) = header::header(&facts, spec, options)?;
    Ok(PreparedRun {
        facts,
        header,
        refused,
    })
}

impl PreparedRun {
    pub(crate) fn measure(
        self,
        fleet: &Fleet,
        options: &ProveOptions,
    ) -> Result<SavedRun, ProveError> {
        let Self {
            facts,
            header,
            refused,
        } = self;
        let cluster = header.cluster.as_deref().unwrap_or(UNNAMED_CLUSTER);
        let path = new_run_path(cluster, &header.started)?;
        let file = RunFile::begin(&path, header.clone())?;
        fleet.options().last_words(&format!(
            "crosstie: interrupted; what was measured is kept: crosstie report {}",
            word(&path.display().to_string())
        ));
        let mut engine = FleetEngine {
            fleet,
            facts: &facts,
            file: &file,
        };
        let clock = Clock { fleet, file: &file };
        let run = run_proof(header, &mut engine, &file, &clock)?;
        fleet.options().last_words("");
        let page = options.report.then(|| page_of(&run, &path)).flatten();
        Ok(SavedRun {
            run,
            path,
            page,
            refused,
        })
    }
}

/// Beside the run. One that cannot be written costs nobody the figures.
fn page_of(run: &StoredRun, path: &Path) -> Option<PathBuf> {
    let page = path.with_extension("html");
    match files::replace(&page, &run_page(&report_of(run, None))) {
        Ok(()) => Some(page),
        Err(error) => {
            tracing::warn!("there is no report: {}", crate::chain_of(&error));
            None
        }
    }
}

/// Nodes that no cluster file names.
const UNNAMED_CLUSTER: &str = "unnamed";

/// Whose runs they are; of nodes that no cluster file names, those of all such nodes.
fn cluster(spec: Option<&ClusterSpec>) -> &str {
    spec.map_or(UNNAMED_CLUSTER, |spec| &spec.name)
}

/// Time since the run began, and the person who waits. Ctrl-C ends the program, and gives the file an end.
struct Clock<'a> {
    fleet: &'a Fleet,
    file: &'a RunFile,
}

impl ProofEnvironment for Clock<'_> {
    fn elapsed_milliseconds(&self) -> u64 {
        self.file.elapsed_milliseconds()
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn tell(&self, progress: ProveProgress) {
        let observer = &self.fleet.options().observer;
        observer.observe(ControlEvent::StepBegan {
            step: progress.step,
            board: progress.board,
            steps_left: progress.steps_left,
        });
    }
}

/// Live nodes, each end of a test in a worker of its own.
struct FleetEngine<'a> {
    fleet: &'a Fleet,
    facts: &'a [Facts],
    file: &'a RunFile,
}

impl TestBatchRunner for FleetEngine<'_> {
    fn measure(&mut self, board: &TestEndTable, step: &TestBatch) -> TestBatchOutcome {
        let offset_milliseconds = self.file.elapsed_milliseconds();
        let ends = &board.ends;
        let pairs = step.tests.iter().map(|test| [test.from, test.to]);
        let pairs: Vec<_> = pairs.map(|pair| pair.map(|end| &ends[end])).collect();
        let (tested, growth) = if step.kind == TestKind::Reachability {
            let tested = reachability::test(self.fleet, self.facts, &pairs);
            (tested, vec![CounterGrowth::default(); pairs.len()])
        } else {
            let ports = counters::ProofPorts::new(self.fleet, self.facts, &pairs);
            let before = ports.read();
            let tested = engines::test(self.fleet, self.facts, step, &pairs);
            (tested, ports.growth(&before, &ports.read(), &pairs))
        };
        crosstie_reach::end_if_interrupted();
        let lost = tested.lost.into_iter().map(|(host, why)| {
            self.give_up(&host);
            LostNode {
                host,
                why,
                offset_milliseconds,
            }
        });
        let lost = lost.collect();
        let results = tested.outcomes.into_iter().zip(growth);
        let results = results.map(|((outcome, doubts), counters)| TestResult {
            outcome,
            counters,
            doubts,
            offset_milliseconds,
        });
        TestBatchOutcome {
            results: results.collect(),
            lost,
        }
    }
}

impl FleetEngine<'_> {
    fn give_up(&self, host: &str) {
        let place = self.facts.iter().position(|facts| facts.host.name == host);
        if let Some(place) = place {
            self.fleet.give_up(place);
        }
    }
}

/// What came of the tests of a step.
#[derive(Debug, Default)]
struct Tested {
    /// With what makes one doubtful.
    outcomes: Vec<(MeasurementOutcome, Vec<String>)>,
    /// Nodes that do not answer any more, and why.
    lost: Vec<(String, String)>,
}
