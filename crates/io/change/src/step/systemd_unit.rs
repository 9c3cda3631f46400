use std::path::PathBuf;

use crosstie_model::plan::SystemdUnit;

use super::{ApplyStep, NodeRuntime};
use crate::{error::StepError, program::run};

impl ApplyStep for SystemdUnit {
    fn apply(&self, _node: &mut NodeRuntime) -> Result<(), StepError> {
        let verb = if self.enabled.to { "enable" } else { "disable" };
        run("systemctl", &[verb, "--", &self.name])?;
        Ok(())
    }

    /// `systemctl enable` makes it.
    fn links(&self, _path: &dyn Fn(&str) -> PathBuf) -> Vec<String> {
        let wants = "/etc/systemd/system/multi-user.target.wants";
        vec![format!("{wants}/{}", self.name)]
    }
}
