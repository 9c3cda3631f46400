//! Doing steps: what reaches the kernel and the system's programs. A file a step, of the same name as in
//! `pure/model/src/plan/step`, which says everything else of it.

mod runtime;
#[cfg(test)]
pub(crate) mod tests;

use std::path::PathBuf;

use crosstie_model::PlanStep;

pub use runtime::NodeRuntime;

use crate::error::StepError;

/// The half of a kind of step that acts.
trait ApplyStep {
    /// Sets the running node to what the step says, files aside. What is so already is not written: some settings take the
    /// link down.
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError>;

    /// Links below `/etc` that it may make or remove, so that a rollback restores them.
    fn links(&self, _path: &dyn Fn(&str) -> PathBuf) -> Vec<String> {
        Vec::new()
    }
}

macro_rules! apply_each {
    ($($kind:ident $file:ident $tag:literal,)*) => {
        $(mod $file;)*

        /// See [`ApplyStep::apply`].
        pub fn apply(step: &PlanStep, node: &mut NodeRuntime) -> Result<(), StepError> {
            match step {
                $(PlanStep::$kind(step) => step.apply(node),)*
            }
        }

        /// See [`ApplyStep::links`]; `path` is where a file of the node is.
        pub(crate) fn links(step: &PlanStep, path: &dyn Fn(&str) -> PathBuf) -> Vec<String> {
            match step {
                $(PlanStep::$kind(step) => step.links(path),)*
            }
        }
    };
}

crosstie_model::with_every_step!(apply_each);

/// The highest priority is one less (IEEE 802.1Q).
const PRIORITIES: u8 = 8;

fn check_below(limit: u8, value: u8, what: &'static str, interface: &str) -> Result<(), StepError> {
    if value < limit {
        return Ok(());
    }
    Err(bad_value(what, interface, &value.to_string()))
}

fn bad_value(what: &'static str, of: &str, value: &str) -> StepError {
    StepError::Value {
        what,
        of: of.to_owned(),
        value: value.to_owned(),
    }
}
