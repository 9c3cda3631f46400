//! `crosstie worker`: what an agent starts to run an engine.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use crosstie_agent::{EngineOptions, serve_engine};

use crate::exit;

pub(crate) fn run(
    engine: String,
    lifetime: u64,
    library: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let options = EngineOptions {
        engine,
        lifetime: Duration::from_secs(lifetime),
        library,
    };
    serve_engine(options).context("the worker cannot go on")?;
    Ok(exit::CLEAN)
}
