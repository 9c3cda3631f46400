use std::time::Duration;

use crosstie_model::plan::Packages;
use crosstie_node::command::run_to_its_end;

use super::{ApplyStep, NodeRuntime};
use crate::{distribution, error::StepError};

/// A slow mirror, on a slow machine.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(600);

impl ApplyStep for Packages {
    /// A package manager is never cut off in the middle: whatever becomes of us, it goes on to its end. One that is still at
    /// work for somebody else is waited for.
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        if !self.installed.to {
            return Ok(());
        }
        let distribution = distribution::installed(&node.root);
        let call = distribution.install(&self.names, INSTALL_TIMEOUT / 2);
        let arguments: Vec<&str> = call.arguments.iter().map(String::as_str).collect();
        let (program, environment) = (call.program, call.environment);
        Ok(run_to_its_end(
            program,
            &arguments,
            environment,
            INSTALL_TIMEOUT,
        )?)
    }
}
