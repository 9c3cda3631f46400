//! `crosstie guard`: what a node's own timer and boot unit start, to go back from a change that nobody confirmed.

use std::process::ExitCode;

use anyhow::bail;

use crate::{exit, output};

pub(crate) fn run(transaction: &str, boot: bool) -> anyhow::Result<ExitCode> {
    match crosstie_node::change::guard(transaction, boot) {
        Ok(lines) => {
            for line in lines {
                output::print(&format!("{line}\n"))?;
            }
            Ok(exit::CLEAN)
        }
        Err(why) => bail!("{transaction} is not rolled back yet: {why}"),
    }
}
