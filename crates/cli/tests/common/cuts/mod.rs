//! Changes of real nodes, and their rollbacks, cut off: the agent is killed, the controller is killed, the power goes.

pub mod cut_node;
pub mod table;

use std::{collections::BTreeMap, fmt};

/// Long enough for an emulated node to come to its last edge, short enough to be waited for.
const GUARD: &str = "90";
const SEED: u64 = 20_261_115;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Change,
    Rollback,
}

impl Operation {
    fn command(self, node: &str) -> Vec<&str> {
        match self {
            Self::Change => vec!["apply", node, "--yes", "--guard", GUARD],
            Self::Rollback => vec!["rollback", node, "--yes"],
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Change => "A change and its confirmation",
            Self::Rollback => "A rollback",
        })
    }
}

/// What each operation passes, in order.
pub type Edges = BTreeMap<Operation, Vec<String>>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    Agent,
    Controller,
    Power,
}

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

/// Every edge × each of these cuts, in an order that looks like chance and is the same every time: first one of every kind of edge,
/// then a second, so that the first few tell most.
pub fn jobs(edges: &Edges, cuts: &[Cut]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (operation, names) in edges {
        for edge in 1..=names.len() {
            jobs.extend(cuts.iter().map(|cut| Job {
                operation: *operation,
                edge,
                cut: *cut,
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
    let mut of_kind = BTreeMap::new();
    jobs.sort_by_cached_key(|job| {
        let name = edges[&job.operation][job.edge - 1].as_str();
        let earlier: &mut usize = of_kind.entry((job.operation, name, job.cut)).or_default();
        *earlier += 1;
        *earlier
    });
    jobs
}
