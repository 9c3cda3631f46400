//! What a check is: declared once, and the source of its finding, its page and its long explanation.

use crate::{Cluster, Hit, Node, Pair};

/// One fault of the catalogue.
pub struct Check {
    /// Names the fault, in kebab-case; never reused.
    pub id: &'static str,
    /// The fault in one line, with no full stop.
    pub title: &'static str,
    /// In words, since it may depend on the case: `fault`, `warning (fault with a cluster file)`.
    pub severity: &'static str,
    /// When it fires, in words.
    pub fires: &'static str,
    /// What is read for it.
    pub reads: &'static [&'static str],
    /// Why it happens: what a finding gives as its cause.
    pub cause: &'static str,
    /// What it means for the user, in a paragraph or two.
    pub meaning: &'static str,
    /// How to mend it, in general; a finding's own fix names the devices.
    pub fix: &'static str,
    /// How to see that it is mended.
    pub verify: &'static str,
    pub run: Run,
}

/// What a check looks at.
#[derive(Clone, Copy)]
pub enum Run {
    /// One node's facts.
    Node(fn(&Node) -> Vec<Hit>),
    /// Two cages that are joined.
    Pair(fn(&Pair) -> Vec<Hit>),
    /// All nodes' facts.
    Cluster(fn(&Cluster) -> Vec<Hit>),
    /// Some of it shows on one node, some only by comparing all.
    NodeAndCluster(fn(&Node) -> Vec<Hit>, fn(&Cluster) -> Vec<Hit>),
    /// An NCCL log: fired by its reader.
    Log,
    /// A measurement: fired by what measures.
    Measured,
    /// As `Measured`, and it shows already in one node's counters, read twice.
    MeasuredOrGrown(fn(&Node) -> Vec<Hit>),
    /// As `Measured`, and it shows already when nodes' tables are compared.
    MeasuredOrCompared(fn(&Cluster) -> Vec<Hit>),
}

/// What a check waits for that facts do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Measurement,
    Log,
}

impl Needs {
    /// As a sentence without its full stop.
    pub fn words(self) -> &'static str {
        match self {
            Self::Measurement => {
                "it needs a measurement (`prove`), which this version does not take yet"
            }
            Self::Log => "it needs an NCCL log (`crosstie explain --nccl-log FILE`)",
        }
    }

    /// For a list.
    pub fn brief(self) -> &'static str {
        match self {
            Self::Measurement => "needs a measurement",
            Self::Log => "needs an NCCL log",
        }
    }
}

impl Check {
    /// What has to be there beside facts before it can fire at all.
    pub fn needs(&self) -> Option<Needs> {
        match self.run {
            Run::Measured => Some(Needs::Measurement),
            Run::Log => Some(Needs::Log),
            Run::Node(_)
            | Run::Pair(_)
            | Run::Cluster(_)
            | Run::NodeAndCluster(..)
            | Run::MeasuredOrGrown(_)
            | Run::MeasuredOrCompared(_) => None,
        }
    }

    /// The word of the catalogue for what it looks at.
    pub fn scope(&self) -> &'static str {
        match self.run {
            Run::Node(_) | Run::NodeAndCluster(..) => "node",
            Run::Pair(_) => "pair",
            Run::Cluster(_) => "cluster",
            Run::Log => "log",
            Run::Measured | Run::MeasuredOrGrown(_) | Run::MeasuredOrCompared(_) => "run",
        }
    }
}
