use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleStep, StepKind, WantedAndFound, list, replace_reading};
use crate::{Facts, plan::ValueChange};

/// Priority flow control of a port (IEEE 802.1Qbb): the priorities that are lossless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityFlowControl {
    pub interface: String,
    pub priorities: ValueChange<Vec<u8>>,
}

impl StepKind for PriorityFlowControl {
    fn label(&self) -> String {
        format!("setting priority flow control of {}", self.interface)
    }

    fn words(&self) -> Vec<String> {
        vec![format!(
            "{}: priority flow control on {} instead of {} (the link bounces)",
            self.interface,
            list(&self.priorities.to),
            list(&self.priorities.from)
        )]
    }

    fn interfaces(&self) -> Vec<&str> {
        vec![&self.interface]
    }

    /// The link goes down for a moment.
    fn disrupts(&self) -> bool {
        true
    }

    fn undo(&self) -> Self {
        Self {
            interface: self.interface.clone(),
            priorities: self.priorities.undo(),
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        let qos = now.qos(&self.interface);
        qos.and_then(|qos| qos.pfc.known()) == Some(&self.priorities.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let qos = facts.qos_mut(&self.interface);
        let qos = qos.ok_or_else(|| StaleStep::of(&self.interface))?;
        replace_reading(&self.interface, &mut qos.pfc, &self.priorities)
    }

    fn subject(&self) -> String {
        format!("{} flow control", self.interface)
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        let found = now.qos(&self.interface).and_then(|qos| qos.pfc.known());
        let word = |priorities: &Vec<u8>| match priorities.as_slice() {
            [] => "off".to_owned(),
            some => {
                let some: Vec<String> = some.iter().map(ToString::to_string).collect();
                format!("on for {}", some.join(", "))
            }
        };
        WantedAndFound::new(&self.priorities.to, found, word)
    }
}
