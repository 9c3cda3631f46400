//! What `crosstie up` found, did and measured, for people and for programs.

mod board;
mod commands;
mod findings;
mod measured;
mod screen;
#[cfg(test)]
mod tests;

use std::fmt;

use crosstie_grade::reach::ReachabilityProof;
use crosstie_model::{Finding, Severity, plan::EngineSetting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    causes::HostFindingRef,
    change::{HalfConfigured, NodeChange},
    init::InitReport,
};

pub use board::{ProgressBoard, ProgressBoardRow, StageBoard, StageCell, TerminalSize, board};
pub use findings::{findings, mark_fixed, stopping};
pub use measured::{UpMeasurement, UpVerdict};
pub use screen::screen;

/// In their order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum UpStage {
    /// Every node is reached and read, and what an earlier run left open is settled.
    Scan,
    /// What is cabled to what is heard, and the cluster file written.
    Cabling,
    /// What is wrong, and which of it the plan mends.
    Doctor,
    Plan,
    Apply,
    /// Every address answers every other at the full MTU.
    Proof,
    /// What every port carries, quickly.
    Measure,
    /// Settings of engines.
    Env,
}

impl UpStage {
    pub const ALL: [Self; 8] = [
        Self::Scan,
        Self::Cabling,
        Self::Doctor,
        Self::Plan,
        Self::Apply,
        Self::Proof,
        Self::Measure,
        Self::Env,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Cabling => "cabling",
            Self::Doctor => "doctor",
            Self::Plan => "plan",
            Self::Apply => "apply",
            Self::Proof => "proof",
            Self::Measure => "measure",
            Self::Env => "env",
        }
    }
}

impl fmt::Display for UpStage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What `up --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UpReport {
    /// The cluster's name; absent where it ended before there was one.
    pub cluster: Option<String>,
    /// The cluster file.
    pub file: String,
    pub verdict: UpVerdict,
    /// The stage that went wrong. Where it is `measure`, the settings of engines are written all the same.
    pub stopped: Option<FailedStage>,
    /// Those that were begun.
    pub stages: Vec<StageTime>,
    pub cabling: Option<InitReport>,
    /// Before anything was changed.
    pub findings: Vec<UpFinding>,
    pub changes: Vec<NodeChange>,
    /// What the changes of all nodes share, in their journals too. Absent where nothing was to be changed.
    pub run: Option<String>,
    /// Present where the cluster is neither as planned nor as it was before.
    pub half_configured: Option<HalfConfigured>,
    pub proof: Option<ReachabilityProof>,
    /// What every port carries; absent where it ended before.
    pub measured: Option<UpMeasurement>,
    /// Findings after the change.
    pub left: Vec<UpFinding>,
    pub environments: Vec<NodeEngineSettings>,
    /// What a person should know besides.
    pub notes: Vec<String>,
    /// The command that rolls back.
    pub undo: Option<String>,
    /// The command that comes next.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedStage {
    pub stage: UpStage,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StageTime {
    pub stage: UpStage,
    pub seconds: f64,
    /// Its outcome in a few words.
    pub summary: String,
}

/// A finding, and whether the plan mends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UpFinding {
    /// Absent where it is between nodes.
    #[serde(rename = "host")]
    pub node: Option<String>,
    pub will_be_fixed: bool,
    #[serde(flatten)]
    pub finding: Finding,
}

impl UpFinding {
    pub(crate) fn located(&self) -> HostFindingRef<'_> {
        (self.node.as_deref(), &self.finding)
    }

    /// A fault that nothing will be done about.
    pub fn blocks_apply(&self) -> bool {
        self.finding.severity == Severity::Fault && !self.will_be_fixed
    }
}

/// A node's settings for engines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeEngineSettings {
    #[serde(rename = "host")]
    pub node: String,
    /// The script that sets them, on this machine.
    pub file: Option<String>,
    pub settings: Vec<EngineSetting>,
}

impl UpReport {
    pub fn new(file: &str) -> Self {
        Self {
            cluster: None,
            file: file.to_owned(),
            verdict: UpVerdict::NotUp,
            stopped: None,
            stages: Vec::new(),
            cabling: None,
            findings: Vec::new(),
            changes: Vec::new(),
            run: None,
            half_configured: None,
            proof: None,
            measured: None,
            left: Vec::new(),
            environments: Vec::new(),
            notes: Vec::new(),
            undo: None,
            next: None,
        }
    }
}

pub fn schema() -> schemars::Schema {
    crate::document::document_schema::<UpReport>()
}
