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
    path::PathBuf,
    time::{Duration, Instant},
};

use crosstie_doctor::{Diagnosis, Selection};
use crosstie_grade::campaign::{Board, Step, TestResult};
use crosstie_model::{
    Facts, Spec,
    run::{CounterGrowth, LostNode, Mode, Outcome, Run, TestKind},
};

use crate::{
    Event, Fleet, FleetSnapshot, NodeFacts, SnapshotError, Targets, TargetsError,
    doctor::examine_with,
    runs::{RunsError, new_run_path, read_run, runs},
};
pub use driver::DriveError;
use driver::{Engine, ProveProgress, StepOutcome, Surroundings, drive};
pub use file::{RunFile, RunFileError};
pub use header::{RefusalReason, Refused, Unmeasurable};

#[derive(Debug, Clone)]
pub struct ProveOptions {
    pub mode: Mode,
    /// Of each test.
    pub test_time: Duration,
    /// Also rails that carry management, and devices that programs use.
    pub force: bool,
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
    #[error(transparent)]
    Drive(#[from] DriveError),
}

/// What was measured, and where it is kept.
#[derive(Debug)]
pub struct Measured {
    pub run: Run,
    pub path: PathBuf,
    /// Ports that were left alone, and why.
    pub refused: Vec<Refused>,
}

/// A run, what the doctor says with it, and the run before it.
#[derive(Debug)]
pub struct Proved {
    /// Absent where nothing could be measured.
    pub measured: Option<Measured>,
    pub diagnosis: Diagnosis,
    /// The last one of these nodes, where there is one.
    pub before: Option<Run>,
}

/// Everything between live nodes, and what it means. Where nothing can be measured, the doctor says why.
pub fn prove(targets: &Targets, options: &ProveOptions) -> Result<Proved, ProveError> {
    let (spec, fleet) = targets.find_live(false)?;
    let spec = spec.as_ref();
    let first = FleetSnapshot::take(&fleet);
    let is_whole = first.nodes.iter().all(|node| node.facts.is_ok());
    // Without a cluster file nobody knows what a node that does not answer is cabled to.
    let measured = if is_whole || spec.is_none() {
        Some(first.known()?)
    } else {
        None
    };
    let before = last_run(spec);
    let measured = measured.map(|nodes| measure_all(&fleet, &nodes, spec, options));
    let measured = match measured {
        Some(Err(ProveError::Unmeasurable(Unmeasurable::NoRail))) if spec.is_some() => None,
        measured => measured.transpose()?,
    };
    // What went wrong meanwhile shows in the facts as well.
    let after = FleetSnapshot::take(&fleet);
    let runs = measured.as_ref().map(|measured| &measured.run);
    let runs: &[Run] = runs.map_or(&[], std::slice::from_ref);
    let diagnosis = examine_with(&after, &[], runs, spec, Selection::default());
    Ok(Proved {
        measured,
        diagnosis,
        before,
    })
}

/// The last one that can be read; a file that cannot is no reason not to measure.
fn last_run(spec: Option<&Spec>) -> Option<Run> {
    let paths = runs(cluster(spec)).ok()?;
    paths.iter().rev().find_map(|path| match read_run(path) {
        Ok(run) => Some(run),
        Err(error) => {
            tracing::warn!("left out of the comparison: {}", crate::chain_of(&error));
            None
        }
    })
}

/// Measures these nodes, which are in the fleet's order.
pub fn measure_all(
    fleet: &Fleet,
    nodes: &[NodeFacts],
    spec: Option<&Spec>,
    options: &ProveOptions,
) -> Result<Measured, ProveError> {
    if nodes.len() < 2 {
        return Err(ProveError::OneNode(nodes.len()));
    }
    let facts: Vec<Facts> = nodes.iter().map(|node| (*node.facts).clone()).collect();
    let (header, refused) = header::header(&facts, spec, options)?;
    let path = new_run_path(cluster(spec), &header.started)?;
    let mut file = RunFile::make(&path)?;
    let observer = &fleet.options().observer;
    let words = format!("what was measured is in {}\n", path.display());
    observer.observe(Event::LastWords(&words));
    let clock = Clock {
        fleet,
        started: Instant::now(),
    };
    let mut engine = FleetEngine {
        fleet,
        facts: &facts,
        clock: &clock,
    };
    let run = drive(header, &mut engine, &mut file, &clock)?;
    observer.observe(Event::LastWords(""));
    Ok(Measured { run, path, refused })
}

/// Whose runs they are; of nodes that no cluster file names, those of all such nodes.
fn cluster(spec: Option<&Spec>) -> &str {
    spec.map_or("unnamed", |spec| &spec.name)
}

/// Time since the run began, and the person who waits. Ctrl-C ends the program; what was measured until then is in the file.
struct Clock<'a> {
    fleet: &'a Fleet,
    started: Instant,
}

impl Surroundings for Clock<'_> {
    fn elapsed_milliseconds(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn tell(&self, progress: ProveProgress) {
        let observer = &self.fleet.options().observer;
        observer.observe(Event::StepBegan {
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
    clock: &'a Clock<'a>,
}

impl Engine for FleetEngine<'_> {
    fn measure(&mut self, board: &Board, step: &Step) -> StepOutcome {
        let offset_milliseconds = self.clock.elapsed_milliseconds();
        let ends = &board.ends;
        let pairs = step.tests.iter().map(|test| [test.from, test.to]);
        let pairs: Vec<_> = pairs.map(|pair| pair.map(|end| &ends[end])).collect();
        let (tested, growth) = if step.kind == TestKind::Reachability {
            let tested = reachability::test(self.fleet, self.facts, &pairs);
            (tested, vec![CounterGrowth::default(); pairs.len()])
        } else {
            let ports = counters::Ports::new(self.fleet, self.facts, &pairs);
            let before = ports.read();
            let tested = engines::test(self.fleet, self.facts, step, &pairs);
            (tested, ports.growth(&before, &ports.read(), &pairs))
        };
        let lost = tested.lost.into_iter().map(|(host, why)| {
            self.give_up(&host);
            LostNode {
                host,
                why: self.by_host_names(why),
                offset_milliseconds,
            }
        });
        let lost = lost.collect();
        let results = tested.outcomes.into_iter().zip(growth);
        let results = results.map(|((outcome, doubts), counters)| TestResult {
            outcome: match outcome {
                Outcome::Failed { error } => Outcome::Failed {
                    error: self.by_host_names(error),
                },
                outcome => outcome,
            },
            counters,
            doubts,
            offset_milliseconds,
        });
        StepOutcome {
            results: results.collect(),
            lost,
        }
    }
}

impl FleetEngine<'_> {
    /// A run names nodes by their host names: how a person reaches them (a user, a domain, an alias) is nobody else's.
    fn by_host_names(&self, text: String) -> String {
        let hosts = self.facts.iter().map(|facts| facts.host.name.as_str());
        let mut names: Vec<(&str, &str)> = self.fleet.names().into_iter().zip(hosts).collect();
        // `spark-a.example.com` before `spark-a`.
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let foreign = names
            .into_iter()
            .filter(|(name, host)| name != host && *name != ".");
        foreign.fold(text, |text, (name, host)| text.replace(name, host))
    }

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
    outcomes: Vec<(Outcome, Vec<String>)>,
    /// Nodes that do not answer any more, and why.
    lost: Vec<(String, String)>,
}
