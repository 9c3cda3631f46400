//! The rank's state, in a file beside its log, where the agent finds it.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crosstie_durable::{AtomicWrite, RealDisk};
use crosstie_launch::{
    job::JobPort,
    job_problems::{self, is_hung},
    job_protocol::{RankEnd, RankFile, RankPhase, RankState},
};
use rustix::process::{Resource, getrlimit};

use super::{
    engine::EngineProcesses,
    progress::{ControlGroup, ports_without_carrier, rdma_packets},
};
use crate::{folder::STATE, now};

const STATE_INTERVAL: Duration = Duration::from_secs(2);

pub(super) struct RankStateFile {
    path: PathBuf,
    ports: Vec<JobPort>,
    group: ControlGroup,
    packets_before: u64,
    state: RankState,
    written: Option<Instant>,
}

impl RankStateFile {
    pub(super) fn new(folder: &Path, file: &RankFile) -> Self {
        let ports = file.plan.ports.clone();
        let mut recorder = Self {
            path: folder.join(STATE),
            group: ControlGroup::own(),
            packets_before: rdma_packets(&ports),
            ports,
            state: RankState {
                phase: RankPhase::Joining,
                since: now(),
                ended: None,
                memlock: getrlimit(Resource::Memlock).current,
                log_bytes: 0,
                rdma_packets: 0,
                progress_at: now(),
                cpu_microseconds: 0,
                dark: Vec::new(),
                stopped: None,
                silent: Vec::new(),
            },
            written: None,
        };
        recorder.write();
        recorder
    }

    pub(super) fn phase(&mut self, phase: RankPhase) {
        if self.state.phase != phase {
            self.state.phase = phase;
            self.state.since = now();
            self.write();
        }
    }

    /// Looks again where the last look was long enough ago. `silence` is how long each peer has said nothing.
    pub(super) fn tick(&mut self, engines: &EngineProcesses, silence: &[(u32, Duration)]) {
        if self.written.is_some_and(|at| at.elapsed() < STATE_INTERVAL) {
            return;
        }
        self.look(engines);
        let silent = silence
            .iter()
            .filter(|(_, silence)| *silence >= job_problems::SILENCE_TIMEOUT);
        let at = now();
        self.state.silent = silent
            .map(|(rank, silence)| (*rank, at.saturating_sub(silence.as_secs())))
            .collect();
        self.write();
    }

    fn look(&mut self, engines: &EngineProcesses) {
        let at = now();
        let packets = rdma_packets(&self.ports).saturating_sub(self.packets_before);
        let log = engines.log_bytes();
        if packets != self.state.rdma_packets || log != self.state.log_bytes {
            self.state.progress_at = at;
        }
        self.state.rdma_packets = packets;
        self.state.log_bytes = log;
        self.state.cpu_microseconds = self.group.cpu_microseconds();
        let is_stopped = self.group.is_stopped();
        self.state.stopped = is_stopped.then(|| self.state.stopped.unwrap_or(at));
        let since = |cable: &String| {
            let known = self.state.dark.iter().find(|(known, _)| known == cable);
            known.map_or(at, |(_, since)| *since)
        };
        let dark = ports_without_carrier(&self.ports).into_iter();
        self.state.dark = dark
            .map(|cable| {
                let since = since(&cable);
                (cable, since)
            })
            .collect();
    }

    pub(super) fn hang(&self, limit: Duration) -> Option<String> {
        is_hung(&self.state, now(), limit.as_secs())
    }

    pub(super) fn end(&mut self, ended: &RankEnd, engines: &EngineProcesses) {
        self.look(engines);
        self.state.ended = Some(ended.clone());
        self.state.silent.clear();
        self.state.stopped = None;
        self.phase(RankPhase::Ended);
    }

    /// There whole or not at all. A full disk must not end an engine, nor may a slow one hold up whoever looks after it: no rank
    /// outlives a boot, so nothing is synced.
    fn write(&mut self) {
        self.written = Some(Instant::now());
        let written = (|| -> io::Result<()> {
            let bytes = serde_json::to_vec(&self.state)?;
            AtomicWrite::new(&self.path, 0o600)
                .without_sync()
                .write(&RealDisk, &bytes)
        })();
        if let Err(error) = written {
            tracing::warn!(%error, "the rank's state cannot be written");
        }
    }
}
