//! What is wrong, with the evidence for it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Worst first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// RDMA does not work, or runs far below its ceiling.
    Fault,
    /// It works, but is slow, fragile or lost at reboot.
    Warning,
    /// Worth knowing, never an alarm.
    Info,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fault => "fault",
            Self::Warning => "warning",
            Self::Info => "info",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The fault's name in the catalogue, never reused for another.
    pub id: String,
    pub severity: Severity,
    /// The device, interface or file that it is about; two nodes where it is about both.
    pub subject: String,
    pub evidence: Vec<Evidence>,
    pub cause: String,
    /// What to do, and the commands for it, one a line.
    pub fix: String,
    /// The commands alone; empty where only hands or judgement help.
    pub commands: Vec<String>,
    /// The finding that explains this one. Absent where nothing does: a root, which is what to mend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<FindingRef>,
}

/// Another finding of the same examination.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct FindingRef {
    /// The node that it is on; null for a finding of the cluster.
    pub host: Option<String>,
    pub id: String,
    pub subject: String,
}

/// One thing that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    pub what: String,
    pub value: String,
    /// The file, command or log line that it was read from.
    pub source: String,
}
