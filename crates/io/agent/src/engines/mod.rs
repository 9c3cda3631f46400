//! What runs in a worker: engines that load other people's libraries and hold hardware.

mod error;
mod rdma;
mod tcp;
mod test;

use std::{io, path::PathBuf, process::Command, time::Duration};

use crosstie_node::worker::{WorkerError, WorkerProcess, serve};

pub use error::{TestEngineError, TestEngineName};
pub use rdma::{RdmaEndPlacement, RdmaTestEngine};
pub use tcp::TcpTestEngine;
use test::TestWorker;
pub use test::{EngineMessage, OpenedTestEnd, TestEngine};
pub(crate) use test::{TestWorkerReply, TestWorkerRequest};

/// The program that an agent starts as its worker: itself, also once its file is gone.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// A test that nobody ends is over by then, whatever becomes of the agent.
const WORKER_LIFETIME_TIMEOUT: Duration = Duration::from_secs(12 * 3600);

/// `crosstie worker`: serves an engine on standard input and output.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Its name, as [`start`] gives it.
    pub engine: String,
    pub lifetime: Duration,
    /// Instead of the machine's own libibverbs.
    pub library: Option<PathBuf>,
}

pub fn serve_engine(options: WorkerOptions) -> io::Result<()> {
    let WorkerOptions {
        engine,
        lifetime,
        library,
    } = options;
    if engine == RdmaTestEngine::NAME.word() {
        serve(TestWorker::new(RdmaTestEngine { library }), lifetime)
    } else if engine == TcpTestEngine::NAME.word() {
        serve(TestWorker::new(TcpTestEngine), lifetime)
    } else {
        let text = format!("there is no engine {engine:?}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }
}

/// With a bare environment: libraries read variables that would make figures of another node's incomparable.
pub(crate) fn start(engine: TestEngineName) -> Result<WorkerProcess, WorkerError> {
    let mut command = Command::new(OWN_PROGRAM);
    command
        .args(["worker", engine.word(), "--lifetime"])
        .arg(WORKER_LIFETIME_TIMEOUT.as_secs().to_string())
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C")
        // libibverbs then says which driver it misses.
        .env("IBV_SHOW_WARNINGS", "1")
        .current_dir("/");
    WorkerProcess::start(command)
}
