//! The side of whoever holds the worker.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    process::Signal,
};

use super::{
    MAGIC,
    error::WorkerError,
    frames::{WorkerFrameKind, encode, read},
};
use crate::{StopFlag, child_processes::ChildRegistration};

/// A loaded or emulated machine takes seconds to start a program.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// For an engine that was asked to end.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// For the rest of its standard error to be read.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Events that nobody took yet; then the worker waits.
const MOST_EVENTS: usize = 64;
/// The last of what it prints on standard error.
const MOST_STDERR: usize = 4 << 10;
/// What may be printed before its first frame.
const MOST_NOISE: usize = 64 << 10;

pub struct WorkerProcess {
    child: Child,
    /// Dropped before the child is waited for.
    entry: Option<ChildRegistration>,
    input: Option<OwnedFd>,
    messages: Receiver<(WorkerFrameKind, Vec<u8>)>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
}

impl WorkerProcess {
    /// `command` is a program that calls [`super::serve`].
    pub fn start(mut command: Command) -> Result<Self, WorkerError> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(WorkerError::Start)?;
        let entry = Some(ChildRegistration::group(&child));
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (sender, messages) = sync_channel(MOST_EVENTS);
        let mut worker = Self {
            child,
            entry,
            input: None,
            messages,
            stderr: Arc::default(),
            stderr_reader: None,
        };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(WorkerError::Start(ErrorKind::BrokenPipe.into()));
        };
        let input = OwnedFd::from(stdin);
        let flags = fcntl_getfl(&input).map_err(|errno| WorkerError::Start(errno.into()))?;
        fcntl_setfl(&input, flags | OFlags::NONBLOCK)
            .map_err(|errno| WorkerError::Start(errno.into()))?;
        worker.input = Some(input);
        let (stdout, stderr) = (OwnedFd::from(stdout), OwnedFd::from(stderr));
        let tail = Arc::clone(&worker.stderr);
        let reader = thread::Builder::new().spawn(move || keep_tail(File::from(stderr), &tail));
        worker.stderr_reader = Some(reader.map_err(WorkerError::Start)?);
        thread::Builder::new()
            .spawn(move || read_all(File::from(stdout), &sender))
            .map_err(WorkerError::Start)?;
        // The first message says that it is there.
        worker.wait(START_TIMEOUT, &StopFlag::default(), &mut |_| ())?;
        Ok(worker)
    }

    /// Its answer. Events are handed to `on_event` as they come.
    pub fn ask(
        &mut self,
        ask: &[u8],
        deadline: Duration,
        stop: &StopFlag,
        on_event: &mut dyn FnMut(&[u8]),
    ) -> Result<Vec<u8>, WorkerError> {
        if self.entry.is_none() {
            return Err(WorkerError::Gone);
        }
        let frame = encode(WorkerFrameKind::Request, ask).map_err(WorkerError::Talk)?;
        if let Err(error) = self.write(&frame, deadline) {
            return Err(self.failed(error, deadline));
        }
        self.wait(deadline, stop, on_event)
    }

    fn wait(
        &mut self,
        deadline: Duration,
        stop: &StopFlag,
        on_event: &mut dyn FnMut(&[u8]),
    ) -> Result<Vec<u8>, WorkerError> {
        let until = Instant::now() + deadline;
        let mut grace = None;
        loop {
            let now = Instant::now();
            if grace.is_none() && (stop.is_set() || now >= until) {
                // Hardware is let go of in order where the engine still can.
                let frame = encode(WorkerFrameKind::Stop, &[]).unwrap_or_default();
                let _ = self.write(&frame, Duration::ZERO);
                grace = Some(now + END_TIMEOUT);
            }
            if grace.is_some_and(|grace| now >= grace) {
                return Err(self.late(deadline, stop));
            }
            match self.messages.recv_timeout(POLL_INTERVAL) {
                Ok((WorkerFrameKind::Event, event)) => on_event(&event),
                Ok((WorkerFrameKind::Answer, answer)) if grace.is_none() || stop.is_set() => {
                    return Ok(answer);
                }
                Ok(_) if grace.is_some() => return Err(self.late(deadline, stop)),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                    let status = self.end(END_TIMEOUT).map_err(WorkerError::Talk)?;
                    let stderr = self.stderr();
                    return Err(WorkerError::Ended { status, stderr });
                }
            }
        }
    }

    fn late(&mut self, waited: Duration, stop: &StopFlag) -> WorkerError {
        let _ = self.end(Duration::ZERO);
        if stop.is_set() {
            return WorkerError::Stopped;
        }
        let stderr = self.stderr();
        WorkerError::Deadline { waited, stderr }
    }

    fn failed(&mut self, error: io::Error, waited: Duration) -> WorkerError {
        let ended = self.end(Duration::ZERO);
        let stderr = self.stderr();
        match (error.kind(), ended) {
            (ErrorKind::TimedOut, _) => WorkerError::Deadline { waited, stderr },
            (ErrorKind::BrokenPipe, Ok(status)) => WorkerError::Ended { status, stderr },
            _ => WorkerError::Talk(error),
        }
    }

    fn write(&self, mut bytes: &[u8], within: Duration) -> io::Result<()> {
        let Some(input) = &self.input else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        let until = Instant::now() + within;
        while !bytes.is_empty() {
            match rustix::io::write(input.as_fd(), bytes) {
                Ok(length) => bytes = bytes.get(length..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    let timeout = Timespec::try_from(left.min(POLL_INTERVAL)).ok();
                    let _ = poll(&mut [PollFd::new(input, PollFlags::OUT)], timeout.as_ref());
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Its input ends; after `grace` it is killed.
    fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        self.input = None;
        let until = Instant::now() + grace;
        while !self.has_ended() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        if let Some(entry) = self.entry.take() {
            // The group, since an engine may have started something.
            entry.signal(Signal::KILL);
        }
        self.child.wait()
    }

    /// Without reaping it: its number stays its own until its group was ended.
    fn has_ended(&self) -> bool {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let found = waitid(WaitId::Pid(Pid::from_child(&self.child)), options);
        !matches!(found, Ok(None))
    }

    /// Of a worker that has ended, as one line. Something that has left its group may keep standard error open.
    fn stderr(&self) -> String {
        let until = Instant::now() + STDERR_TIMEOUT;
        let is_read = || {
            self.stderr_reader
                .as_ref()
                .is_none_or(JoinHandle::is_finished)
        };
        while !is_read() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        if self.entry.is_some() {
            let _ = self.end(END_TIMEOUT);
        }
    }
}

/// Until it ends, or says what no worker says.
fn read_all(mut stdout: File, messages: &SyncSender<(WorkerFrameKind, Vec<u8>)>) {
    if !skip_noise(&mut stdout) {
        return;
    }
    let mut message = (WorkerFrameKind::Answer, Vec::new());
    while messages.send(message).is_ok() {
        message = match read(&mut stdout) {
            Ok(Some(next)) => next,
            _ => return,
        };
    }
}

/// Up to the word that precedes the frames.
fn skip_noise(stdout: &mut File) -> bool {
    let mut last = Vec::new();
    let mut byte = [0];
    for _ in 0..MOST_NOISE {
        match stdout.read(&mut byte) {
            Ok(1..) => last.push(byte[0]),
            _ => return false,
        }
        if last.ends_with(MAGIC) {
            return true;
        }
    }
    false
}

fn keep_tail(mut stderr: File, tail: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut buffer) {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(buffer.get(..length).unwrap_or_default());
        let excess = tail.len().saturating_sub(MOST_STDERR);
        tail.drain(..excess);
    }
}
