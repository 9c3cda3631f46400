use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleStep, StepKind, WantedAndFound, replace_reading};
use crate::{Facts, plan::ValueChange};

/// By which field of a packet a port chooses its priority: `pcp` or `dscp`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityTrust {
    pub interface: String,
    pub trust: ValueChange<String>,
}

impl StepKind for PriorityTrust {
    fn label(&self) -> String {
        format!("setting the trusted field of {}", self.interface)
    }

    fn words(&self) -> Vec<String> {
        let Self { interface, trust } = self;
        vec![format!(
            "{interface}: trust {} instead of {}",
            trust.to, trust.from
        )]
    }

    fn interfaces(&self) -> Vec<&str> {
        vec![&self.interface]
    }

    fn undo(&self) -> Self {
        Self {
            interface: self.interface.clone(),
            trust: self.trust.undo(),
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        let qos = now.qos(&self.interface);
        qos.and_then(|qos| qos.trust.known()) == Some(&self.trust.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let qos = facts.qos_mut(&self.interface);
        let qos = qos.ok_or_else(|| StaleStep::of(&self.interface))?;
        replace_reading(&self.interface, &mut qos.trust, &self.trust)
    }

    fn subject(&self) -> String {
        format!("{} trust", self.interface)
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        let found = now.qos(&self.interface).and_then(|qos| qos.trust.known());
        WantedAndFound::new(&self.trust.to, found, String::clone)
    }
}
