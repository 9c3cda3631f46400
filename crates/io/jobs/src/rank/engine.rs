//! Processes of a rank: its engine, and commands that the head sends.

use std::{
    collections::BTreeMap,
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crosstie_launch::job::RankCommand;
use rustix::process::{Pid, Signal, kill_process_group};

use super::{events::RankEvent, output::EngineOutput};

/// After SIGTERM. systemd kills what is left of the whole control group once this process has ended.
const END_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct EngineProcesses {
    output: EngineOutput,
    events: mpsc::Sender<RankEvent>,
    /// Process groups that have not been seen to end, by a number of ours; 0 is the engine.
    running: BTreeMap<u64, Pid>,
}

impl EngineProcesses {
    pub(super) fn new(folder: &Path, events: mpsc::Sender<RankEvent>) -> io::Result<Self> {
        Ok(Self {
            output: EngineOutput::new(folder)?,
            events,
            running: BTreeMap::new(),
        })
    }

    pub(super) fn log_bytes(&self) -> u64 {
        self.output.bytes()
    }

    /// Into the log and the journal, as a line of ours.
    pub(super) fn note(&self, text: &str) {
        self.output.note(text);
    }

    pub(super) fn start(&mut self, command: &RankCommand) -> io::Result<()> {
        let mut started = Command::new(&command.program);
        started.args(&command.arguments);
        let events = self.events.clone();
        self.spawn(0, started, move |status| {
            let (ok, how) = match status {
                Ok(status) => (status.success(), words(status)),
                Err(error) => (false, error.to_string()),
            };
            // Nobody listens any more once the job is over.
            let _ = events.send(RankEvent::Engine { ok, how });
        })
    }

    /// A command of the head's engine, as ssh would run it. `id` is never 0.
    pub(super) fn run(&mut self, id: u64, command: &str) -> io::Result<()> {
        let mut started = Command::new("/bin/sh");
        started.args(["-c", command]);
        let events = self.events.clone();
        self.spawn(id, started, move |status| {
            let code = status.ok().and_then(|status| status.code()).unwrap_or(255);
            let _ = events.send(RankEvent::Ran { id, code });
        })
    }

    fn spawn(
        &mut self,
        id: u64,
        mut command: Command,
        ended: impl FnOnce(io::Result<ExitStatus>) + Send + 'static,
    ) -> io::Result<()> {
        command
            .stdin(Stdio::null())
            .stdout(self.output.stdout()?)
            .stderr(self.output.stderr()?)
            .process_group(0);
        let mut child: Child = command.spawn()?;
        self.running.insert(id, Pid::from_child(&child));
        thread::spawn(move || ended(child.wait()));
        Ok(())
    }

    pub(super) fn has_ended(&mut self, id: u64) {
        self.running.remove(&id);
    }

    /// Asks all of them to end, and kills those that do not.
    pub(super) fn end(&mut self) {
        self.signal(Signal::TERM);
        let until = Instant::now() + END_TIMEOUT;
        while self.is_any_left() && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
        self.signal(Signal::KILL);
        self.output.drain();
    }

    fn signal(&self, signal: Signal) {
        for pid in self.running.values() {
            // One that has ended meanwhile.
            let _ = kill_process_group(*pid, signal);
        }
    }

    fn is_any_left(&self) -> bool {
        let mut running = self.running.values();
        running.any(|pid| rustix::process::test_kill_process_group(*pid).is_ok())
    }
}

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (_, Some(signal)) => format!("killed by signal {signal}"),
        _ => status.to_string(),
    }
}
