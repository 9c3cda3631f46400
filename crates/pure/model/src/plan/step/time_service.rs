use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleStep, StepKind, WantedAndFound, replace_reading};
use crate::{Facts, plan::ValueChange};

/// Whether systemd runs an installed time service, now and at boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeService {
    pub on: ValueChange<bool>,
}

const NAME: &str = "time service";

impl StepKind for TimeService {
    fn label(&self) -> String {
        "switching the time service".to_owned()
    }

    fn words(&self) -> Vec<String> {
        let verb = if self.on.to { "start" } else { "stop" };
        vec![format!(
            "{verb} the installed time service, now and at boot"
        )]
    }

    fn undo(&self) -> Self {
        Self { on: self.on.undo() }
    }

    fn is_done(&self, now: &Facts) -> bool {
        now.system.time_service_on.known() == Some(&self.on.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let system = &mut facts.system;
        replace_reading(NAME, &mut system.time_service_on, &self.on)
    }

    fn subject(&self) -> String {
        NAME.to_owned()
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        let found = now.system.time_service_on.known().copied();
        WantedAndFound::new(self.on.to, found, |on| {
            if on { "on" } else { "off" }.to_owned()
        })
    }
}
