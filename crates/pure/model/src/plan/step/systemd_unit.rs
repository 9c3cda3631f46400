use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RuntimeRollback, StaleStep, StepKind, WantedAndFound};
use crate::{Facts, plan::ValueChange};

/// Whether the boot starts a unit. The links that say so are files, and restored with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemdUnit {
    pub name: String,
    pub enabled: ValueChange<bool>,
}

impl StepKind for SystemdUnit {
    fn label(&self) -> String {
        format!("enabling {}", self.name)
    }

    fn words(&self) -> Vec<String> {
        let verb = if self.enabled.to {
            "start"
        } else {
            "no longer start"
        };
        vec![format!("{verb} {} at boot", self.name)]
    }

    fn enabled_unit(&self) -> Option<&str> {
        self.enabled.to.then_some(self.name.as_str())
    }

    fn undo(&self) -> Self {
        Self {
            name: self.name.clone(),
            enabled: self.enabled.undo(),
        }
    }

    fn rollback(&self) -> RuntimeRollback {
        RuntimeRollback::Files
    }

    fn is_done(&self, now: &Facts) -> bool {
        now.managed.units.contains(&self.name) == self.enabled.to
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let units = &mut facts.managed.units;
        if units.contains(&self.name) != self.enabled.from {
            return Err(StaleStep::of(&self.name));
        }
        if self.enabled.to {
            units.insert(self.name.clone());
        } else {
            units.remove(&self.name);
        }
        Ok(())
    }

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        let is_enabled = now.managed.units.contains(&self.name);
        WantedAndFound::toggle(&self.enabled, is_enabled, "enabled", "not enabled")
    }
}
