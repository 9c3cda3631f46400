use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RuntimeRollback, StaleStep, StepKind, WantedAndFound};
use crate::{Facts, Reading, plan::ValueChange};

/// Packages of the distribution. A rollback leaves them installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packages {
    pub names: Vec<String>,
    pub installed: ValueChange<bool>,
}

impl StepKind for Packages {
    fn label(&self) -> String {
        format!("installing {}", self.names.join(", "))
    }

    fn words(&self) -> Vec<String> {
        let verb = if self.installed.to {
            "install"
        } else {
            "remove"
        };
        vec![format!("{verb} {}", self.names.join(", "))]
    }

    fn is_before_guard(&self) -> bool {
        true
    }

    fn undo(&self) -> Self {
        Self {
            names: self.names.clone(),
            installed: self.installed.undo(),
        }
    }

    fn rollback(&self) -> RuntimeRollback {
        let names = self.names.join(", ");
        RuntimeRollback::Stays {
            what: format!("the packages {names} stay installed"),
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        let is_installed = |name: &String| now.software.package(name).is_some();
        self.names
            .iter()
            .all(|name| is_installed(name) == self.installed.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let Reading::Value(packages) = &mut facts.software.packages else {
            return Ok(());
        };
        for name in &self.names {
            if packages.contains_key(name) != self.installed.from {
                return Err(StaleStep::of(name));
            }
            if self.installed.to {
                packages.insert(name.clone(), String::new());
            } else {
                packages.remove(name);
            }
        }
        Ok(())
    }

    fn subject(&self) -> String {
        self.names.join(" ")
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        let is_so = self.is_done(now) == self.installed.to;
        WantedAndFound::toggle(&self.installed, is_so, "installed", "not installed")
    }
}
