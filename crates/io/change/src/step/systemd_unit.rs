use std::path::PathBuf;

use crosstie_model::plan::SystemdUnit;

use super::{ApplyStep, NodeRuntime};
use crate::{distribution, error::StepError, program::run};

impl ApplyStep for SystemdUnit {
    fn apply(&self, _node: &mut NodeRuntime) -> Result<(), StepError> {
        let verb = if self.enabled.to { "enable" } else { "disable" };
        run("systemctl", &[verb, "--", &self.name])?;
        Ok(())
    }

    /// `systemctl enable` makes it.
    fn links(&self, path: &dyn Fn(&str) -> PathBuf) -> Vec<String> {
        let units = distribution::installed(&path("/")).folders.units;
        vec![format!("{units}/multi-user.target.wants/{}", self.name)]
    }
}
