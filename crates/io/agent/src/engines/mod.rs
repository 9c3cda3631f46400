//! What runs in a worker: engines that load other people's libraries and hold hardware.

pub(crate) mod rdma;
pub(crate) mod tcp;

use std::{io, path::PathBuf, process::Command, time::Duration};

use crosstie_node::worker::{Worker, WorkerError, serve};

use crate::calls::engine::Protocol as _;

/// The program that an agent starts as its worker: itself, also once its file is gone.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// A test that nobody ends is over by then, whatever becomes of the agent.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);

/// `crosstie worker`: serves an engine on standard input and output.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Its name, as [`start`] gives it.
    pub engine: String,
    pub lifetime: Duration,
    /// Instead of the machine's own libibverbs.
    pub library: Option<PathBuf>,
}

pub fn serve_engine(options: EngineOptions) -> io::Result<()> {
    match options.engine.as_str() {
        rdma::Rdma::NAME => serve(rdma::RdmaEngine::new(options.library), options.lifetime),
        tcp::Tcp::NAME => serve(tcp::TcpEngine::default(), options.lifetime),
        other => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("there is no engine {other:?}"),
        )),
    }
}

/// With a bare environment: libraries read variables that would make figures of another node's incomparable.
pub(crate) fn start(engine: &str) -> Result<Worker, WorkerError> {
    let mut command = Command::new(OWN_PROGRAM);
    command
        .args(["worker", engine, "--lifetime"])
        .arg(LIFETIME.as_secs().to_string())
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C")
        // libibverbs then says which driver it misses.
        .env("IBV_SHOW_WARNINGS", "1")
        .current_dir("/");
    Worker::start(command)
}
