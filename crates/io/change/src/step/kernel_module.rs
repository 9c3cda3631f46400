use crosstie_model::plan::KernelModule;

use super::{ApplyStep, NodeRuntime};
use crate::{error::StepError, program::run};

impl ApplyStep for KernelModule {
    fn apply(&self, _node: &mut NodeRuntime) -> Result<(), StepError> {
        let name = self.name.as_str();
        let arguments: &[&str] = if self.loaded.to {
            &["--", name]
        } else {
            &["-r", "--", name]
        };
        run("modprobe", arguments)?;
        Ok(())
    }
}
