//! A finding and the node that it is on, as JSON has it.

use crosstie_doctor::{Diagnosis, RunWithFaults};
use crosstie_model::{Finding, run::StoredRun};
use schemars::JsonSchema;
use serde::Serialize;

use crate::causes::located;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostFinding {
    /// The node that it is on; absent for one of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(flatten)]
    pub finding: Finding,
}

impl HostFinding {
    /// What a run shows by itself.
    pub fn of_run(run: &StoredRun) -> Vec<Self> {
        let findings = RunWithFaults::new(run).findings().into_iter();
        let placed = findings.map(|finding| Self {
            host: None,
            finding,
        });
        placed.collect()
    }

    pub fn of_diagnosis(diagnosis: &Diagnosis) -> Vec<Self> {
        let findings = located(diagnosis).into_iter();
        let placed = findings.map(|(host, finding)| Self {
            host: host.map(str::to_owned),
            finding: finding.clone(),
        });
        placed.collect()
    }
}
