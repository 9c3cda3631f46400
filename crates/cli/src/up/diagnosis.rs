//! The doctor's word on nodes as they are, and as the plan would leave them.

use crosstie_doctor::{ClockOffset, Diagnosis, Patient, Selection, diagnose};
use crosstie_model::{Facts, Plan, Spec};
use crosstie_plan::foresee;
use crosstie_report::up::{Seen, seen};

use crate::look::Looked;

/// Nodes that were looked at, all lists in one order.
pub(super) struct Ward<'a> {
    pub(super) looked: &'a [Looked],
    /// The same nodes a moment before.
    pub(super) earlier: Option<&'a [Looked]>,
    pub(super) clocks: &'a [Option<ClockOffset>],
    pub(super) spec: &'a Spec,
}

impl Ward<'_> {
    /// Every finding, and whether `plan` mends it.
    pub(super) fn seen(&self, plan: Option<&Plan>) -> Vec<Seen> {
        let facts = self.looked.iter().map(|node| &node.facts);
        let now = self.diagnosis(&facts.clone().collect::<Vec<_>>());
        let then = plan.map(|plan| {
            let after: Vec<Facts> = facts.map(|facts| planned(plan, facts)).collect();
            self.diagnosis(&after.iter().collect::<Vec<_>>())
        });
        seen(&now, then.as_ref())
    }

    fn diagnosis(&self, facts: &[&Facts]) -> Diagnosis {
        let patients: Vec<Patient> = facts
            .iter()
            .enumerate()
            .map(|(index, facts)| Patient {
                facts,
                earlier: self
                    .earlier
                    .and_then(|nodes| Some(&nodes.get(index)?.facts)),
                clock: self.clocks.get(index).copied().flatten(),
            })
            .collect();
        diagnose(&patients, Some(self.spec), Selection::default())
    }
}

fn planned(plan: &Plan, facts: &Facts) -> Facts {
    let mut plans = plan.nodes.iter();
    match plans.find(|node| node.node == facts.host.name) {
        Some(node) => foresee(node, facts),
        None => facts.clone(),
    }
}
