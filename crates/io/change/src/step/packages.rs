use std::time::Duration;

use crosstie_model::plan::Packages;
use crosstie_node::command::run_to_its_end;

use super::{ApplyStep, Runtime};
use crate::error::StepError;

/// A slow mirror, on a slow machine.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(600);

impl ApplyStep for Packages {
    /// dpkg is never cut off in the middle: whatever becomes of us, apt-get goes on to its end. One that is still at work for
    /// somebody else is waited for.
    fn apply(&self, _node: &mut Runtime) -> Result<(), StepError> {
        if !self.installed.to {
            return Ok(());
        }
        let wait = format!("DPkg::Lock::Timeout={}", INSTALL_TIMEOUT.as_secs() / 2);
        let mut arguments = vec!["--option", &wait];
        arguments.extend(["install", "--yes", "--no-install-recommends", "--"]);
        arguments.extend(self.names.iter().map(String::as_str));
        Ok(run_to_its_end("apt-get", &arguments, INSTALL_TIMEOUT)?)
    }
}
