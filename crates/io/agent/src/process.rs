//! The agent as a process of its own: what controllers start on a node.

use std::{fs::File, io, time::Duration};

use crosstie_reach::binary;
use rustix::{io::fcntl_dupfd_cloexec, process::Signal, stdio};

use crate::{CALL_TABLE, SILENCE_TIMEOUT, ServeError, ServeOptions, serve};

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("cannot {0}")]
    Start(&'static str, #[source] io::Error),
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Serves calls on standard input and output. `build` is what this build is known by, where whoever starts it has looked.
pub fn serve_process(silence: Option<Duration>, build: Option<String>) -> Result<(), AgentError> {
    let cannot = |what| move |error| AgentError::Start(what, error);
    let errno = |what| move |error: rustix::io::Errno| AgentError::Start(what, error.into());
    let build = match build {
        Some(build) => build,
        None => binary::own_build().map_err(cannot("read this program's own file"))?,
    };
    // Frames alone go to standard output: whatever else is printed goes where errors go.
    // No program that is run here may keep the connection open.
    let output = fcntl_dupfd_cloexec(stdio::stdout(), 3).map_err(errno("use standard output"))?;
    stdio::dup2_stdout(stdio::stderr()).map_err(errno("use standard error"))?;
    // No file system is kept from being unmounted.
    std::env::set_current_dir("/").map_err(cannot("go to /"))?;
    // Whoever ends this process must not keep it from putting links back.
    crosstie_reach::end_children_on_signals().map_err(cannot("watch for signals"))?;
    let options = ServeOptions {
        silence: silence.unwrap_or(SILENCE_TIMEOUT),
        table: CALL_TABLE,
    };
    let served = serve(stdio::stdin(), File::from(output), &build, options);
    crosstie_node::child_processes::signal_all(Signal::KILL);
    Ok(served?)
}
