//! `crosstie agent`: what the other commands start on a node.

use std::{fs::File, process::ExitCode, time::Duration};

use anyhow::Context;
use crosstie_agent::{SILENCE_TIMEOUT, ServeOptions, TABLE, serve};
use crosstie_reach::binary;
use rustix::{io::fcntl_dupfd_cloexec, process::Signal, stdio};

use crate::exit;

pub(crate) fn run(silence: Option<u32>, build: Option<String>) -> anyhow::Result<ExitCode> {
    let build = match build {
        Some(build) => build,
        None => binary::own_build().context("cannot read this program's own file")?,
    };
    // Frames alone go to standard output: whatever else is printed goes where errors go.
    // No program that is run here may keep the connection open.
    let output = fcntl_dupfd_cloexec(stdio::stdout(), 3).context("no standard output")?;
    stdio::dup2_stdout(stdio::stderr()).context("no standard error")?;
    // No file system is kept from being unmounted.
    std::env::set_current_dir("/").context("cannot go to /")?;
    // Whoever ends this process must not keep it from putting links back.
    crosstie_reach::end_children_on_signals().context("cannot watch for signals")?;
    let silence = silence.map(|limit| Duration::from_millis(limit.into()));
    let options = ServeOptions {
        silence: silence.unwrap_or(SILENCE_TIMEOUT),
        table: TABLE,
    };
    let served = serve(stdio::stdin(), File::from(output), &build, options);
    crosstie_node::groups::signal_all(Signal::KILL);
    served?;
    Ok(exit::CLEAN)
}
