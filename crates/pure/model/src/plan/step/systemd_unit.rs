use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Comparison, RuntimeRollback, Stale, StepKind};
use crate::{Facts, plan::Change};

/// Whether the boot starts a unit. The links that say so are files, and restored with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemdUnit {
    pub name: String,
    pub enabled: Change<bool>,
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

    fn foresee(&self, facts: &mut Facts) -> Result<(), Stale> {
        let units = &mut facts.managed.units;
        if units.contains(&self.name) != self.enabled.from {
            return Err(Stale::of(&self.name));
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

    fn compare(&self, now: &Facts) -> Comparison {
        let is_enabled = now.managed.units.contains(&self.name);
        Comparison::toggle(&self.enabled, is_enabled, "enabled", "not enabled")
    }
}
