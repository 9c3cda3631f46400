//! `crosstie guard`: what a node's own timer and boot unit start, to go back from a change that nobody confirmed.

use std::{process::ExitCode, time::Duration};

use anyhow::bail;

use crate::{exit, output};

pub(crate) fn run(
    transaction: &str,
    boot: bool,
    wait_until: Option<Duration>,
) -> anyhow::Result<ExitCode> {
    let outcome = match wait_until {
        Some(until) => crosstie_node::change::guard_at(transaction, until),
        None => crosstie_node::change::guard(transaction, boot),
    };
    match outcome {
        Ok(lines) => {
            for line in lines {
                output::print(&format!("{line}\n"))?;
            }
            Ok(exit::CLEAN)
        }
        Err(why) => bail!("{transaction} is not rolled back yet: {why}"),
    }
}
