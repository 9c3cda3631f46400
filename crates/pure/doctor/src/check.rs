//! What a check is: declared once, and the source of its finding, its page and its long explanation.

use crate::{CagePair, CheckHit, ExaminedCluster, ExaminedNode, RunWithFaults};

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
    /// What may lie behind it: where one of these is found in the same place, this is its consequence. The first that
    /// fits counts.
    pub explained_by: &'static [CauseRule],
    pub run: CheckFunctions,
}

/// A check whose finding explains another's, where the two agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseRule {
    pub id: &'static str,
    pub over: CauseScope,
}

pub(crate) const fn explains(id: &'static str, over: CauseScope) -> CauseRule {
    CauseRule { id, over }
}

/// Over what a finding and its cause must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CauseScope {
    Node,
    /// Every node of this is a node of the cause.
    EveryNode,
    /// A port, or a cage as a whole.
    Port,
    Cage,
    /// The cable, at either end.
    Cable,
    /// The cable: the cause is at the one end, and this at the other.
    FarEnd,
    /// The cause is a node, and a cable leads from here to it.
    Peer,
}

impl CauseScope {
    /// In words, for a page.
    pub fn words(self) -> &'static str {
        match self {
            Self::Node => "on the same node",
            Self::EveryNode => "on the very same nodes",
            Self::Port => "on the same port",
            Self::Cage => "on the same cage",
            Self::Cable => "on the same cable",
            Self::FarEnd => "at the other end of the cable",
            Self::Peer => "at the other end of a cable",
        }
    }
}

/// What a check looks at: everything that it has a function for.
#[derive(Clone, Copy, Default)]
pub struct CheckFunctions {
    /// One node's facts.
    pub node: Option<fn(&ExaminedNode) -> Vec<CheckHit>>,
    /// Two cages that are joined.
    pub pair: Option<fn(&CagePair) -> Vec<CheckHit>>,
    /// All nodes' facts.
    pub cluster: Option<fn(&ExaminedCluster) -> Vec<CheckHit>>,
    /// An NCCL log: fired by its reader.
    pub log: bool,
    /// A stored run of measurements.
    pub stored: Option<fn(&RunWithFaults) -> Vec<CheckHit>>,
    /// It is told from measurements, whether it has a function for them yet or not.
    pub measured: bool,
}

impl CheckFunctions {
    const NOTHING: Self = Self {
        node: None,
        pair: None,
        cluster: None,
        log: false,
        stored: None,
        measured: false,
    };

    pub(crate) const fn node(function: fn(&ExaminedNode) -> Vec<CheckHit>) -> Self {
        Self::NOTHING.and_node(function)
    }

    pub(crate) const fn pair(function: fn(&CagePair) -> Vec<CheckHit>) -> Self {
        Self {
            pair: Some(function),
            ..Self::NOTHING
        }
    }

    pub(crate) const fn cluster(function: fn(&ExaminedCluster) -> Vec<CheckHit>) -> Self {
        Self::NOTHING.and_cluster(function)
    }

    pub(crate) const fn log() -> Self {
        Self {
            log: true,
            ..Self::NOTHING
        }
    }

    pub(crate) const fn measured() -> Self {
        Self {
            measured: true,
            ..Self::NOTHING
        }
    }

    /// It is told from a stored run.
    pub const fn stored(function: fn(&RunWithFaults) -> Vec<CheckHit>) -> Self {
        Self {
            stored: Some(function),
            measured: true,
            ..Self::NOTHING
        }
    }

    /// It shows in one node's facts, too.
    pub(crate) const fn and_node(self, function: fn(&ExaminedNode) -> Vec<CheckHit>) -> Self {
        Self {
            node: Some(function),
            ..self
        }
    }

    /// It shows when nodes are compared, too.
    pub(crate) const fn and_cluster(self, function: fn(&ExaminedCluster) -> Vec<CheckHit>) -> Self {
        Self {
            cluster: Some(function),
            ..self
        }
    }
}

/// What a check waits for that facts do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckInput {
    Measurement,
    /// One that no command takes yet.
    LaterMeasurement,
    Log,
}

impl CheckInput {
    /// As a sentence without its full stop.
    pub fn words(self) -> &'static str {
        match self {
            Self::Measurement => {
                "it needs a measurement: `crosstie prove` takes it and looks for this"
            }
            Self::LaterMeasurement => "it needs a measurement that this version does not take yet",
            Self::Log => "it needs an NCCL log (`crosstie explain --nccl-log FILE`)",
        }
    }

    /// For a list.
    pub fn brief(self) -> &'static str {
        match self {
            Self::Measurement => "needs a measurement",
            Self::LaterMeasurement => "needs a measurement of a later version",
            Self::Log => "needs an NCCL log",
        }
    }
}

impl Check {
    /// What has to be there beside facts before it can fire at all.
    pub fn needs(&self) -> Option<CheckInput> {
        let CheckFunctions {
            node,
            pair,
            cluster,
            log,
            stored,
            measured,
        } = self.run;
        if node.is_some() || pair.is_some() || cluster.is_some() {
            None
        } else if stored.is_some() {
            Some(CheckInput::Measurement)
        } else if measured {
            Some(CheckInput::LaterMeasurement)
        } else {
            log.then_some(CheckInput::Log)
        }
    }

    /// The word of the catalogue for what it looks at first.
    pub fn scope(&self) -> &'static str {
        match self.run {
            CheckFunctions { measured: true, .. } => "run",
            CheckFunctions { log: true, .. } => "log",
            CheckFunctions { node: Some(_), .. } => "node",
            CheckFunctions { pair: Some(_), .. } => "pair",
            _ => "cluster",
        }
    }
}
