use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleStep, StepKind, SummaryGroup, WantedAndFound, replace};
use crate::{Facts, plan::ValueChange};

/// A value of the running kernel. Files keep it for the next boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sysctl {
    /// As sysctl writes it: a dot within a part of the name is a slash.
    pub name: String,
    pub value: ValueChange<String>,
}

impl StepKind for Sysctl {
    fn label(&self) -> String {
        format!("setting {}", self.name)
    }

    fn words(&self) -> Vec<String> {
        let Self { name, value } = self;
        vec![format!("set {name} from {} to {}", value.from, value.to)]
    }

    fn shown_as(&self) -> SummaryGroup {
        SummaryGroup::Sysctl
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

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let found = facts.sysctls.get_mut(&self.name);
        let found = found.ok_or_else(|| StaleStep::of(&self.name))?;
        replace(&self.name, found, &self.value)
    }

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        let found = now.sysctls.get(&self.name).cloned();
        WantedAndFound {
            wanted: self.value.to.clone(),
            found: found.unwrap_or_else(|| "nothing".to_owned()),
        }
    }
}
