//! A node on which changes are cut off.

use std::{
    path::Path,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use crosstie_lab::Lab;

use super::{Cut, Edges, Job, Operation};
use crate::common::{
    changes::{changed_lines, json, once_settled, same, shape, start},
    lab::sh,
    ups::{AFTER_UP, Proven},
};

const ORDER: &str = "/run/crosstie-rehearsal";
const CONFIRMED: &str = "confirmed";
const STATES: &str = "cat /var/lib/crosstie/changes/*/state.json 2>&-; true";

/// One node, and what it is to be after everything.
pub struct CutNode<'a> {
    lab: &'a Lab,
    cluster: &'a Path,
    node: &'a str,
    before: String,
    /// The name of its snapshot with the change confirmed, where every rollback begins.
    confirmed: &'static str,
    pub edges: Edges,
}

/// All of these nodes, each changed once and rolled back.
pub fn cut_nodes<'a>(lab: &'a Lab, cluster: &'a Path, nodes: &[&'a str]) -> Vec<CutNode<'a>> {
    thread::scope(|scope| {
        let threads: Vec<_> = nodes
            .iter()
            .map(|node| scope.spawn(|| CutNode::new(lab, cluster, node)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Shares the jobs among the nodes, and tells how each ended.
#[allow(clippy::print_stdout)] // it takes hours; and a job that is begun and never ended is the one that failed
pub fn take_turns(cut_nodes: &[CutNode<'_>], jobs: Vec<Job>, ended: impl Fn(Job, &str) + Sync) {
    let jobs = Mutex::new(jobs.into_iter());
    let next = || jobs.lock().unwrap().next();
    thread::scope(|scope| {
        for cut_node in cut_nodes {
            scope.spawn(|| {
                while let Some(job) = next() {
                    println!("{}: {job}", cut_node.node);
                    let started = Instant::now();
                    let outcome = cut_node.cut(job);
                    println!("{job}: {outcome} after {} s", started.elapsed().as_secs());
                    ended(job, outcome);
                }
            });
        }
    });
}

impl<'a> CutNode<'a> {
    /// A node that is up, without the list of its edges.
    pub fn proven(proven: &'a Proven, node: &'a str, before: &str) -> Self {
        Self {
            lab: &proven.lab,
            cluster: &proven.cluster,
            node,
            before: before.to_owned(),
            confirmed: AFTER_UP,
            edges: Edges::new(),
        }
    }

    fn new(lab: &'a Lab, cluster: &'a Path, node: &'a str) -> Self {
        let mut cut_node = Self {
            lab,
            cluster,
            node,
            before: shape(lab, node),
            confirmed: CONFIRMED,
            edges: Edges::new(),
        };
        cut_node.list(Operation::Change);
        lab.save_as(node, CONFIRMED).unwrap();
        cut_node.list(Operation::Rollback);
        same(node, &cut_node.before, &shape(lab, node));
        cut_node
    }

    /// Lets it happen, and notes what it passed.
    fn list(&mut self, operation: Operation) {
        let (lab, node) = (self.lab, self.node);
        sh(lab, node, &format!("umask 077; echo list > {ORDER}"));
        json(lab, self.cluster, 0, &operation.command(node));
        let list = sh(lab, node, &format!("cat {ORDER}; rm {ORDER}"));
        let names = list.lines().skip(1).map(str::to_owned);
        self.edges.insert(operation, names.collect());
    }

    /// Whether the node is rolled back by itself, or keeps what was confirmed.
    pub fn cut(&self, job: Job) -> &'static str {
        self.cut_at(job, || ())
    }

    /// The same; `meanwhile` is done while everything waits for the cut.
    pub fn cut_at(&self, job: Job, meanwhile: impl FnOnce()) -> &'static str {
        let (lab, cluster, node) = (self.lab, self.cluster, self.node);
        if job.operation == Operation::Rollback {
            lab.reset_to(node, self.confirmed).unwrap();
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
            meanwhile();
        }
        match job.cut {
            Cut::Agent => {}
            Cut::Controller => controller.kill().unwrap(),
            Cut::Power => lab.power_cut(node).unwrap(),
        }
        let said = controller.wait_with_output().unwrap();
        let after = once_settled(lab, node, &format!("{boot}; ls {ORDER} 2>&-; true"));
        let reached = !after.contains(ORDER) && (after != before) == (job.cut == Cut::Power);
        assert!(reached, "{node}: {job}: not reached\n{said:?}");
        self.outcome(&format!("{node}: {job}"))
    }

    /// As the node has left it to itself: no command of ours comes before the look, since any would settle what is open.
    fn outcome(&self, what: &str) -> &'static str {
        let (lab, cluster, node) = (self.lab, self.cluster, self.node);
        let found = shape(lab, node);
        if sh(lab, node, STATES).contains("confirmed") {
            json(lab, cluster, 0, &Operation::Rollback.command(node));
            same(what, &self.before, &shape(lab, node));
            return "kept";
        }
        if found == self.before {
            return "rolled back";
        }
        // A guard that was cut off while it was armed, or on its way out, is cleared away by whatever command comes next.
        let odd = changed_lines(&self.before, &found);
        let of_guard = |line: &String| line.contains("crosstie-") || line.contains(".target.wants");
        assert!(odd.iter().all(of_guard), "{what}: {odd:#?}");
        json(lab, cluster, 0, &["status", node]);
        same(what, &self.before, &shape(lab, node));
        "next"
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
