//! `crosstie agent`: what the other commands start on a node.

use std::{process::ExitCode, time::Duration};

use crosstie_agent::serve_process;

use crate::exit;

pub(crate) fn run(silence: Option<u32>, build: Option<String>) -> anyhow::Result<ExitCode> {
    let silence = silence.map(|limit| Duration::from_millis(limit.into()));
    serve_process(silence, build)?;
    Ok(exit::CLEAN)
}
