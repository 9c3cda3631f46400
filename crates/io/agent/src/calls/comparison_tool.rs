//! Runs a tool that others measure with, so that its figure can stand beside ours.

use std::{thread, time::Duration};

use crosstie_fabric::comparison_tools::ComparisonToolCommand;
use crosstie_facts::ReadGap;
use crosstie_node::command::{CommandLimits, run};
use serde::{Deserialize, Serialize};

use crate::{Call, CallContext};

/// A client that comes before its server is told off at once, and comes again.
const ATTEMPTS: u32 = 5;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Beside what the run itself takes; an emulated node is slow to start a program.
const TOOL_START_TIMEOUT: Duration = Duration::from_secs(20);

pub struct ComparisonToolCall;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ComparisonToolError {
    #[error("{program} is not installed")]
    Missing { program: String },
    #[error("{program} failed: {why}")]
    Failed { program: String, why: String },
}

impl ComparisonToolCall {
    /// How long one takes at most.
    pub fn longest(ask: &ComparisonToolCommand) -> Duration {
        Duration::from_secs(ask.seconds.into()) + 2 * TOOL_START_TIMEOUT
    }
}

impl Call for ComparisonToolCall {
    const NAME: &'static str = "comparison-tool";
    type Request = ComparisonToolCommand;
    type Event = ();
    /// What it printed.
    type Answer = String;
    type Error = ComparisonToolError;

    fn run(
        ask: ComparisonToolCommand,
        context: &CallContext<'_, ()>,
    ) -> Result<String, ComparisonToolError> {
        let program = ask.tool.program();
        let arguments = ask.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let bounds = CommandLimits {
            deadline: Duration::from_secs(ask.seconds.into()) + TOOL_START_TIMEOUT,
            ..CommandLimits::default()
        };
        let attempts = if ask.server.is_some() { ATTEMPTS } else { 1 };
        let mut last = String::new();
        for _ in 0..attempts {
            if ask.server.is_some() {
                thread::sleep(RETRY_INTERVAL);
            }
            if context.stop.is_set() {
                break;
            }
            match run(program, &arguments, bounds) {
                Ok(output) => return Ok(String::from_utf8_lossy(&output).into_owned()),
                Err(ReadGap::Absent) => {
                    let program = program.to_owned();
                    return Err(ComparisonToolError::Missing { program });
                }
                Err(gap) => last = gap.to_string(),
            }
        }
        Err(ComparisonToolError::Failed {
            program: program.to_owned(),
            why: last,
        })
    }
}
