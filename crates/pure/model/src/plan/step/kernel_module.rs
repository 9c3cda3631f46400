use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RuntimeRollback, StaleStep, StepKind, WantedAndFound};
use crate::{Facts, plan::ValueChange};

/// A module of the kernel that is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelModule {
    pub name: String,
    pub loaded: ValueChange<bool>,
}

impl KernelModule {
    fn is_loaded(&self, now: &Facts) -> bool {
        now.software.module(&self.name).is_some()
    }
}

impl StepKind for KernelModule {
    fn label(&self) -> String {
        format!("loading {}", self.name)
    }

    fn words(&self) -> Vec<String> {
        let verb = if self.loaded.to { "load" } else { "unload" };
        vec![format!("{verb} the module {}", self.name)]
    }

    fn undo(&self) -> Self {
        Self {
            name: self.name.clone(),
            loaded: self.loaded.undo(),
        }
    }

    fn rollback(&self) -> RuntimeRollback {
        RuntimeRollback::UndoIfPossible {
            stays: format!("the module {} stays loaded", self.name),
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        self.is_loaded(now) == self.loaded.to
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        if self.is_loaded(facts) != self.loaded.from {
            return Err(StaleStep::of(&self.name));
        }
        let modules = &mut facts.software.modules;
        if self.loaded.to {
            modules.entry(self.name.clone()).or_default();
        } else {
            modules.remove(&self.name);
        }
        Ok(())
    }

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        WantedAndFound::toggle(&self.loaded, self.is_loaded(now), "loaded", "not loaded")
    }
}
