use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Comparison, ShownAs, Stale, StepKind, replace};
use crate::{Facts, plan::Change};

/// A value of the running kernel. Files keep it for the next boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sysctl {
    /// As sysctl writes it: a dot within a part of the name is a slash.
    pub name: String,
    pub value: Change<String>,
}

impl StepKind for Sysctl {
    fn label(&self) -> String {
        format!("setting {}", self.name)
    }

    fn words(&self) -> Vec<String> {
        let Self { name, value } = self;
        vec![format!("set {name} from {} to {}", value.from, value.to)]
    }

    fn shown_as(&self) -> ShownAs {
        ShownAs::Sysctl
    }

    fn undo(&self) -> Self {
        Self {
            name: self.name.clone(),
            value: self.value.undo(),
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        now.sysctls.get(&self.name) == Some(&self.value.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), Stale> {
        let found = facts.sysctls.get_mut(&self.name);
        let found = found.ok_or_else(|| Stale::of(&self.name))?;
        replace(&self.name, found, &self.value)
    }

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn compare(&self, now: &Facts) -> Comparison {
        let found = now.sysctls.get(&self.name).cloned();
        Comparison {
            wanted: self.value.to.clone(),
            found: found.unwrap_or_else(|| "nothing".to_owned()),
        }
    }
}
