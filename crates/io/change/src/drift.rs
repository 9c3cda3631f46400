//! What is no longer as it was left.

use std::collections::BTreeMap;

use crosstie_model::{PlanStep, change::Drift, plan::WantedAndFound};
use serde::{Deserialize, Serialize};

use super::{file_image::read_current, journal::StoredTransaction, system_access::SystemAccess};

/// Something that is not as a change left it, as it was at some moment: before a trial, or when that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DriftRecord {
    what: String,
    found: String,
    /// SHA-256, where it is a file.
    sum: Option<String>,
}

/// What the changes in force have left, the later ones counting, against what is there. What a trial that was kept made of it
/// is no drift.
pub(super) fn drift(system: &dyn SystemAccess, transactions: &[StoredTransaction]) -> Vec<Drift> {
    let mut claims = BTreeMap::new();
    let mut kept: BTreeMap<&str, &DriftRecord> = BTreeMap::new();
    for transaction in transactions.iter().filter(|found| found.is_in_force()) {
        for part in transaction.journal.steps.iter().flat_map(PlanStep::parts) {
            let subject = part.subject();
            kept.remove(subject.as_str());
            claims.insert(subject, part);
        }
        let by_trial = transaction.progress.kept_by_trial.iter();
        kept.extend(by_trial.map(|one| (one.what.as_str(), one)));
    }
    if claims.is_empty() {
        return Vec::new();
    }
    let now = system.facts();
    let drifted = claims.into_iter().filter(|(_, claim)| !claim.is_done(&now));
    drifted
        .filter_map(|(what, claim)| {
            let WantedAndFound { wanted, found } = claim.compare(&now);
            let drift = Drift {
                what,
                wanted,
                found,
            };
            match kept.get(drift.what.as_str()) {
                Some(kept) => kept.drifted(system, drift),
                None => Some(drift),
            }
        })
        .collect()
}

/// All of it now, for the journal of a trial.
pub(super) fn drift_records(
    system: &dyn SystemAccess,
    transactions: &[StoredTransaction],
) -> Vec<DriftRecord> {
    let drift = drift(system, transactions).into_iter();
    drift
        .map(|drift| DriftRecord {
            sum: file_checksum(system, &drift.what),
            what: drift.what,
            found: drift.found,
        })
        .collect()
}

impl DriftRecord {
    /// Nothing where it is as the trial left it.
    fn drifted(&self, system: &dyn SystemAccess, drift: Drift) -> Option<Drift> {
        let is_kept = self.found == drift.found && self.sum == file_checksum(system, &drift.what);
        let wanted = "as the `crosstie try` that was kept left it".to_owned();
        (!is_kept).then_some(Drift { wanted, ..drift })
    }
}

/// Of a file; nothing where there is none.
fn file_checksum(system: &dyn SystemAccess, what: &str) -> Option<String> {
    let is_path = what.starts_with('/');
    let found = is_path.then(|| read_current(&system.path(what)).ok().flatten());
    found.flatten().map(|found| found.sum())
}

#[cfg(test)]
mod tests {
    use crosstie_model::{
        Facts, Reading,
        plan::{PriorityFlowControl, PriorityTrust, TrafficClass, ValueChange},
    };

    use super::*;

    fn spark() -> Facts {
        let fixture = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../fixtures/nodes/spark-healthy"
        );
        let loaded = crosstie_node::capture::load(std::path::Path::new(fixture)).unwrap();
        let raw = loaded.into_iter().next().unwrap().raw.unwrap();
        crosstie_facts::facts(&raw)
    }

    #[test]
    fn settings_of_ports_are_told_with_what_was_wanted_and_what_is_there() {
        let mut now = spark();
        let interface = now.network.interfaces[0].name.clone();
        now.network.interfaces[0].qos.pfc = Reading::Value(vec![0, 4]);
        now.network.interfaces[0].qos.trust = Reading::Value("pcp".to_owned());
        let pfc = PlanStep::from(PriorityFlowControl {
            interface: interface.clone(),
            priorities: ValueChange {
                from: Vec::new(),
                to: vec![3],
            },
        });
        let told_of = |step: &PlanStep| {
            let WantedAndFound { wanted, found } = step.compare(&now);
            (wanted, found)
        };
        let pair = |wanted: &str, found: &str| (wanted.to_owned(), found.to_owned());
        assert_eq!(told_of(&pfc), pair("on for 3", "on for 0, 4"));
        let trust = PlanStep::from(PriorityTrust {
            interface,
            trust: ValueChange {
                from: "pcp".to_owned(),
                to: "dscp".to_owned(),
            },
        });
        assert_eq!(told_of(&trust), pair("dscp", "pcp"));
        let gone = PlanStep::from(TrafficClass {
            device: "mlx5_9".to_owned(),
            port: 1,
            class: ValueChange { from: 0, to: 106 },
        });
        assert_eq!(told_of(&gone), pair("106", "cannot be read"));
    }
}
