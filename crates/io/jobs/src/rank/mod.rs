//! The first process of a rank's unit. It starts the engine, keeps its output, and holds on to the other nodes' ranks: one that
//! ends, fails or falls silent ends the job on all nodes, whether a controller is there or not.
//!
//! The ranks meet at the head's watcher: one port on one address, open to those who know the job's secret.

mod engine;
mod events;
mod head;
mod listening;
mod output;
mod peers;
mod progress;
mod remote;
mod state;
mod worker;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool, mpsc},
    time::Duration,
};

use crosstie_launch::job_protocol::{RankEnd, RankFile};
use crosstie_node::with_causes;
use signal_hook::{consts::SIGTERM, flag};

use crate::folder::{RANK, read_json};
use engine::EngineProcesses;
use events::RankEvent;
use state::RankStateFile;

pub use remote::{RankShellError, run_on_peer};

/// Tells programs of the job where its folder is.
pub const FOLDER_VARIABLE: &str = "CROSSTIE_JOB_FOLDER";

/// For all ranks to find each other; an emulated node takes half a minute to get there.
const JOIN_TIMEOUT: Duration = Duration::from_secs(120);
/// Between two words to a peer.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
/// A peer that says nothing for so long is gone.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
/// The same, and how long a rank may hang, where whoever started the job wants it ended early.
const HANG_TIMEOUT: Duration = Duration::from_secs(15);
/// Of a job whose ranks all end by themselves, between the first and the last.
const RANK_END_TIMEOUT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, thiserror::Error)]
pub enum RankError {
    #[error("cannot read the job in {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot watch for signals")]
    Signals(#[source] io::Error),
    #[error("cannot keep the output of the engine")]
    Output(#[source] io::Error),
    #[error("cannot listen at {address} for the other ranks")]
    Listen {
        address: std::net::SocketAddr,
        source: io::Error,
    },
    #[error("cannot listen for programs of the job")]
    Socket(#[source] io::Error),
    #[error("the job's secret is none")]
    Secret,
}

#[derive(Debug, thiserror::Error)]
#[error("{program} does not start")]
struct EngineError {
    program: String,
    source: io::Error,
}

/// What both kinds of ranks have.
struct Rank<'a> {
    file: &'a RankFile,
    engines: EngineProcesses,
    recorder: RankStateFile,
    events: mpsc::Receiver<RankEvent>,
    sender: mpsc::Sender<RankEvent>,
    /// systemd asks it to end.
    stop: Arc<AtomicBool>,
}

/// Whether the job ended as it should.
pub fn run(folder: &Path) -> Result<bool, RankError> {
    let path = folder.join(RANK);
    let file: RankFile = read_json(&path).map_err(|source| RankError::File { path, source })?;
    let stop = Arc::new(AtomicBool::new(false));
    flag::register(SIGTERM, Arc::clone(&stop)).map_err(RankError::Signals)?;
    let (sender, events) = mpsc::channel();
    let mut rank = Rank {
        file: &file,
        engines: EngineProcesses::new(folder, sender.clone()).map_err(RankError::Output)?,
        recorder: RankStateFile::new(folder, &file),
        events,
        sender,
        stop,
    };
    let ended = if file.plan.rank == 0 {
        head::run(&mut rank, folder)
    } else {
        worker::run(&mut rank)
    };
    let ended = ended.unwrap_or_else(|error| RankEnd {
        ok: false,
        why: with_causes(&error),
    });
    rank.engines
        .note(&format!("the job is over: {}", ended.why));
    rank.engines.end();
    rank.recorder.end(&ended, &rank.engines);
    Ok(ended.ok)
}

impl Rank<'_> {
    fn own_name(&self) -> String {
        name_of(self.file, self.file.plan.rank)
    }

    fn failure(&self, why: &str) -> RankEnd {
        RankEnd {
            ok: false,
            why: format!("{}: {why}", self.own_name()),
        }
    }

    fn silence_limit(&self) -> Duration {
        if self.file.stop_on_hang {
            HANG_TIMEOUT
        } else {
            SILENCE_TIMEOUT
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Starts the engine, where it has one of its own.
    fn start_engine(&mut self) -> Result<(), EngineError> {
        let Some(command) = &self.file.plan.command else {
            return Ok(());
        };
        let started = self.engines.start(command);
        started.map_err(|source| EngineError {
            program: command.program.clone(),
            source,
        })
    }

    /// Why it should end, if it hangs and that was asked for.
    fn hang(&self) -> Option<String> {
        let limit = self.file.stop_on_hang.then_some(HANG_TIMEOUT)?;
        self.recorder.hang(limit)
    }
}

/// As people read it.
fn name_of(file: &RankFile, rank: u32) -> String {
    let host = file.hosts.get(rank as usize);
    format!("rank {rank} on {}", host.map_or("?", String::as_str))
}
