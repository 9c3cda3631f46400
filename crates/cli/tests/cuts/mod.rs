//! Changes of real nodes, and the way back from them, cut off: the agent is killed, the controller is killed, the power goes.

#![allow(clippy::unwrap_used, clippy::panic)] // a test says what went wrong by panicking
#![allow(unreachable_pub)] // each test file takes what it needs

use std::{fmt, path::Path, sync::Mutex, thread, time::Duration};

use crosstie_lab::Lab;

use crate::{
    changes::{json, same, shape, start, wait_for, wait_until_settled},
    lab::sh,
};

const ORDER: &str = "/run/crosstie-rehearsal";
/// Long enough for an emulated node to come to its last edge, short enough to be waited for.
const GUARD: &str = "90";
const SEED: u64 = 20_261_115;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Change,
    WayBack,
}

impl Operation {
    fn command(self, node: &str) -> Vec<&str> {
        match self {
            Self::Change => vec!["apply", node, "--yes", "--guard", GUARD],
            Self::WayBack => vec!["rollback", node, "--yes"],
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Change => "A change and its confirmation",
            Self::WayBack => "The way back",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    Agent,
    Controller,
    Power,
}

pub const CUTS: [Cut; 3] = [Cut::Agent, Cut::Controller, Cut::Power];

impl fmt::Display for Cut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Agent => "agent killed",
            Self::Controller => "controller killed",
            Self::Power => "power cut",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    pub operation: Operation,
    /// From 1.
    pub edge: usize,
    pub cut: Cut,
}

impl fmt::Display for Job {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            edge,
            cut,
        } = self;
        write!(formatter, "{operation}, {cut} at edge {edge}")
    }
}

/// What each operation passes on this node, which is afterwards as it was.
pub fn edges(lab: &Lab, cluster: &Path, node: &str) -> [(Operation, Vec<String>); 2] {
    [Operation::Change, Operation::WayBack].map(|operation| {
        sh(lab, node, &format!("umask 077; echo list > {ORDER}"));
        json(lab, cluster, 0, &operation.command(node));
        let list = sh(lab, node, &format!("cat {ORDER}; rm {ORDER}"));
        (operation, list.lines().skip(1).map(str::to_owned).collect())
    })
}

/// Every edge × every cut, in an order that looks like chance and is the same every time.
pub fn jobs(edges: &[(Operation, Vec<String>)]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (operation, names) in edges {
        for edge in 1..=names.len() {
            jobs.extend(CUTS.map(|cut| Job {
                operation: *operation,
                edge,
                cut,
            }));
        }
    }
    let mut state = SEED;
    for last in (1..jobs.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        jobs.swap(last, usize::try_from(state >> 33).unwrap() % (last + 1));
    }
    jobs
}

/// Shares the jobs among the nodes, and tells how each ended.
pub fn take_turns(
    (lab, cluster): (&Lab, &Path),
    nodes: &[&str],
    jobs: Vec<Job>,
    ended: impl Fn(Job, &'static str) + Sync,
) {
    let jobs = Mutex::new(jobs.into_iter());
    let next = || jobs.lock().unwrap().next();
    thread::scope(|scope| {
        for node in nodes {
            scope.spawn(|| {
                let place = Place {
                    lab,
                    cluster,
                    node,
                    before: shape(lab, node),
                };
                while let Some(job) = next() {
                    ended(job, place.cut(job));
                }
            });
        }
    });
}

/// One node, and what it is to be after everything.
struct Place<'a> {
    lab: &'a Lab,
    cluster: &'a Path,
    node: &'a str,
    before: String,
}

impl Place<'_> {
    /// Whether the node is back by itself, or keeps what was confirmed.
    fn cut(&self, job: Job) -> &'static str {
        let (lab, cluster, node) = (self.lab, self.cluster, self.node);
        if job.operation == Operation::WayBack {
            json(lab, cluster, 0, &Operation::Change.command(node));
        }
        let what = if job.cut == Cut::Agent {
            "kill"
        } else {
            "hold"
        };
        let order = format!("umask 077; echo '{} {what}' > {ORDER}", job.edge);
        let boot = "cat /proc/sys/kernel/random/boot_id";
        let before = sh(lab, node, &format!("{order}; {boot}"));
        let mut controller = start(lab, cluster, &job.operation.command(node));
        if job.cut != Cut::Agent {
            self.wait_until_held(&job);
        }
        match job.cut {
            Cut::Agent => {}
            Cut::Controller => controller.kill().unwrap(),
            Cut::Power => lab.power_cut(node).unwrap(),
        }
        let said = controller.wait_with_output().unwrap();
        wait_for(lab, node);
        wait_until_settled(lab, node);

        let after = sh(lab, node, &format!("{boot}; ls {ORDER} 2>&-; true"));
        let reached = !after.contains(ORDER) && (after != before) == (job.cut == Cut::Power);
        assert!(reached, "{node}: {job}: not reached\n{said:?}");
        // A guard that was cut off while it was armed is cleared away by whatever command comes next.
        let status = json(lab, cluster, 0, &["status", node]);
        let kept = status["nodes"][0]["state"] == "confirmed";
        if kept {
            json(lab, cluster, 0, &Operation::WayBack.command(node));
        }
        same(&format!("{node}: {job}"), &self.before, &shape(lab, node));
        if kept { "kept" } else { "back" }
    }

    /// Once the order is gone, everything waits.
    fn wait_until_held(&self, job: &Job) {
        let script =
            format!("for i in $(seq 240); do [ -e {ORDER} ] || exit 0; sleep 0.5; done; exit 1");
        let arguments = ["sh", "-c", &script];
        let waited = self
            .lab
            .exec_as_root(self.node, &arguments, Duration::from_secs(150));
        let code = waited.unwrap().code;
        assert_eq!(code, Some(0), "{}: {job}: not held", self.node);
    }
}
