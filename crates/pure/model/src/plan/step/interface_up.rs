use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleStep, StepKind, WantedAndFound, replace_reading};
use crate::{Facts, plan::ValueChange};

/// Whether an interface is administratively up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceUp {
    pub interface: String,
    pub up: ValueChange<bool>,
}

impl InterfaceUp {
    fn found(&self, now: &Facts) -> Option<bool> {
        let interface = now.network.interface(&self.interface)?;
        interface.up.known().copied()
    }
}

impl StepKind for InterfaceUp {
    fn label(&self) -> String {
        format!("switching {}", self.interface)
    }

    fn words(&self) -> Vec<String> {
        let state = if self.up.to { "up" } else { "down" };
        vec![format!("take {} {state}", self.interface)]
    }

    fn interfaces(&self) -> Vec<&str> {
        vec![&self.interface]
    }

    fn disrupts(&self) -> bool {
        true
    }

    fn undo(&self) -> Self {
        Self {
            interface: self.interface.clone(),
            up: self.up.undo(),
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        self.found(now) == Some(self.up.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let interface = facts.network.interface_mut(&self.interface);
        let interface = interface.ok_or_else(|| StaleStep::of(&self.interface))?;
        replace_reading(&self.interface, &mut interface.up, &self.up)
    }

    fn subject(&self) -> String {
        format!("{} link", self.interface)
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        let word = |up: bool| if up { "up" } else { "down" }.to_owned();
        WantedAndFound::new(self.up.to, self.found(now), word)
    }
}
