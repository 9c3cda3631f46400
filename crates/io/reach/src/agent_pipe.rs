//! Pipes to an agent: those of a child process that leads to a node, or to a thread of this process.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, ChildStderr, Command, ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use crosstie_node::child_processes::ChildRegistration;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open},
};
use thiserror::Error;

/// Most of the child's standard error that is kept: its end.
const MAX_COMPLAINT: usize = 16 << 10;

/// Most output that is taken in while we still talk; beyond it the child has to wait.
const MAX_PENDING: usize = 2 << 20;

/// How long a child may take to leave by itself once its input has ended, and then once it is asked to.
const CHILD_END_TIMEOUT: Duration = Duration::from_millis(300);

#[derive(Debug, Clone, Error)]
pub enum AgentPipeError {
    #[error("no answer in time")]
    Deadline,
    #[error("the connection ended")]
    Ended,
    #[error("it was interrupted")]
    Interrupted,
    #[error("the pipe to the child process failed")]
    Pipe(#[source] Arc<io::Error>),
}

impl From<Errno> for AgentPipeError {
    fn from(errno: Errno) -> Self {
        io::Error::from(errno).into()
    }
}

impl From<io::Error> for AgentPipeError {
    fn from(error: io::Error) -> Self {
        Self::Pipe(Arc::new(error))
    }
}

/// What came, if anything did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PipeInput {
    Output(Vec<u8>),
    /// Something on standard error, or nothing after all.
    Other,
    End,
}

/// Whose process group the child is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildProcessGroup {
    /// Ended as a whole, its own children too.
    Own,
    /// Ours, so that it may ask on the terminal.
    Shared,
}

pub(crate) struct AgentPipe {
    child: Option<Child>,
    entry: Option<ChildRegistration>,
    input: Option<File>,
    output: Option<File>,
    errors: Option<ChildStderr>,
    pending: VecDeque<Vec<u8>>,
    complaint: Vec<u8>,
}

impl AgentPipe {
    pub(crate) fn spawn(mut command: Command, group: ChildProcessGroup) -> io::Result<Self> {
        if group == ChildProcessGroup::Own {
            command.process_group(0);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let entry = Some(match group {
            ChildProcessGroup::Own => ChildRegistration::group(&child),
            ChildProcessGroup::Shared => ChildRegistration::single(&child),
        });
        let link = Self {
            input: child.stdin.take().map(|pipe| OwnedFd::from(pipe).into()),
            output: child.stdout.take().map(|pipe| OwnedFd::from(pipe).into()),
            errors: child.stderr.take(),
            child: Some(child),
            entry,
            pending: VecDeque::new(),
            complaint: Vec::new(),
        };
        link.never_block()?;
        Ok(link)
    }

    /// To somebody in this process.
    pub(crate) fn pipes(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        let link = Self {
            input: Some(input.into()),
            output: Some(output.into()),
            errors: None,
            child: None,
            entry: None,
            pending: VecDeque::new(),
            complaint: Vec::new(),
        };
        link.never_block()?;
        Ok(link)
    }

    fn never_block(&self) -> io::Result<()> {
        let pipes = [
            self.input.as_ref().map(AsFd::as_fd),
            self.output.as_ref().map(AsFd::as_fd),
            self.errors.as_ref().map(AsFd::as_fd),
        ];
        for pipe in pipes.into_iter().flatten() {
            rustix::fs::fcntl_setfl(pipe, OFlags::NONBLOCK)?;
        }
        Ok(())
    }

    /// Waits until something comes, or the other end is gone.
    pub(crate) fn hear(&mut self, until: Instant) -> Result<PipeInput, AgentPipeError> {
        if let Some(output) = self.pending.pop_front() {
            return Ok(PipeInput::Output(output));
        }
        if self.output.is_none() {
            return Ok(PipeInput::End);
        }
        self.wait(false, &[], until)?;
        self.take_errors();
        Ok(match self.take_output()? {
            Some(output) => PipeInput::Output(output),
            None if self.output.is_none() => PipeInput::End,
            None => PipeInput::Other,
        })
    }

    /// Writes of `frames` what fits and takes what came, once either is possible or one of `besides` is ready.
    pub(crate) fn transfer(
        &mut self,
        frames: &mut OutgoingFrames,
        besides: &[PollFd<'_>],
        until: Instant,
    ) -> Result<PipeInput, AgentPipeError> {
        if let Some(output) = self.pending.pop_front() {
            return Ok(PipeInput::Output(output));
        }
        if self.output.is_none() {
            return Ok(PipeInput::End);
        }
        match self.wait(!frames.is_empty(), besides, until) {
            Ok(()) => {}
            Err(AgentPipeError::Deadline) => return Ok(PipeInput::Other),
            Err(error) => return Err(error),
        }
        self.take_errors();
        let output = self.take_output()?;
        if output.is_none() && self.output.is_none() {
            return Ok(PipeInput::End);
        }
        while let Some(bytes) = frames.front() {
            match self.write_some(bytes)? {
                Some(length) => frames.advance(length),
                None => break,
            }
        }
        Ok(output.map_or(PipeInput::Other, PipeInput::Output))
    }

    /// Says all of it. What comes meanwhile is kept for [`AgentPipe::hear`].
    pub(crate) fn say(&mut self, mut bytes: &[u8], until: Instant) -> Result<(), AgentPipeError> {
        while !bytes.is_empty() {
            if self.input.is_none() {
                return Err(AgentPipeError::Ended);
            }
            self.wait(true, &[], until)?;
            self.take_errors();
            if let Some(output) = self.take_output()? {
                self.pending.push_back(output);
            }
            if let Some(length) = self.write_some(bytes)? {
                bytes = &bytes[length..];
            }
        }
        Ok(())
    }

    /// Nothing where it does not fit now.
    fn write_some(&mut self, bytes: &[u8]) -> Result<Option<usize>, AgentPipeError> {
        let Some(input) = &mut self.input else {
            return Err(AgentPipeError::Ended);
        };
        match input.write(bytes) {
            Ok(length) => Ok(Some(length)),
            Err(error) if is_temporary(&error) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.input = None;
                Err(AgentPipeError::Ended)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What the child has said on standard error, its end if it said much.
    pub(crate) fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.complaint).into_owned()
    }

    /// Waits for the rest of standard error and for the child to leave, both briefly.
    pub(crate) fn finish(&mut self) -> Option<ExitStatus> {
        self.input = None;
        let until = Instant::now() + 2 * CHILD_END_TIMEOUT;
        while self.errors.is_some() && self.wait_for_errors(until).is_ok() {
            self.take_errors();
        }
        let left = self.has_left(2 * CHILD_END_TIMEOUT);
        left.then(|| {
            self.entry = None;
            self.child.as_mut()?.wait().ok()
        })?
    }

    fn wait(
        &self,
        to_say: bool,
        besides: &[PollFd<'_>],
        until: Instant,
    ) -> Result<(), AgentPipeError> {
        let held: usize = self.pending.iter().map(Vec::len).sum();
        let mut waited = besides.to_vec();
        if let Some(output) = self.output.as_ref().filter(|_| held < MAX_PENDING) {
            waited.push(PollFd::new(output, PollFlags::IN));
        }
        if let Some(errors) = &self.errors {
            waited.push(PollFd::new(errors, PollFlags::IN));
        }
        if let Some(input) = self.input.as_ref().filter(|_| to_say) {
            waited.push(PollFd::new(input, PollFlags::OUT));
        }
        wait_for(&mut waited, until)
    }

    fn wait_for_errors(&self, until: Instant) -> Result<(), AgentPipeError> {
        let mut waited: Vec<_> = self
            .errors
            .iter()
            .map(|errors| PollFd::new(errors, PollFlags::IN))
            .collect();
        wait_for(&mut waited, until)
    }

    fn take_output(&mut self) -> Result<Option<Vec<u8>>, AgentPipeError> {
        let Some(output) = &mut self.output else {
            return Ok(None);
        };
        let mut buffer = vec![0; 64 << 10];
        match output.read(&mut buffer) {
            Ok(0) => {
                self.output = None;
                Ok(None)
            }
            Ok(length) => {
                buffer.truncate(length);
                Ok(Some(buffer))
            }
            Err(error) if is_temporary(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn take_errors(&mut self) {
        let Some(errors) = &mut self.errors else {
            return;
        };
        let mut buffer = [0; 4 << 10];
        match errors.read(&mut buffer) {
            Ok(0) => self.errors = None,
            Ok(length) => {
                self.complaint.extend_from_slice(&buffer[..length]);
                let excess = self.complaint.len().saturating_sub(MAX_COMPLAINT);
                self.complaint.drain(..excess);
            }
            Err(error) if is_temporary(&error) => {}
            Err(_) => self.errors = None,
        }
    }

    fn has_left(&self, patience: Duration) -> bool {
        let Some(child) = &self.child else {
            return true;
        };
        let Ok(process) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
            return false;
        };
        let mut waited = [PollFd::new(&process, PollFlags::IN)];
        wait_for(&mut waited, Instant::now() + patience).is_ok()
    }
}

/// The node's end leaves when its input ends; a child that does not follow is made to.
impl Drop for AgentPipe {
    fn drop(&mut self) {
        self.input = None;
        self.output = None;
        let Some(entry) = self.entry.take() else {
            return;
        };
        if !self.has_left(CHILD_END_TIMEOUT) {
            entry.signal(Signal::TERM);
            self.has_left(CHILD_END_TIMEOUT);
        }
        // Also those that the child has left behind in its group.
        entry.signal(Signal::KILL);
        drop(entry);
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
    }
}

/// Frames on their way to the agent.
#[derive(Debug, Default)]
pub(crate) struct OutgoingFrames {
    frames: VecDeque<Vec<u8>>,
    /// Of the first of them.
    written: usize,
}

impl OutgoingFrames {
    pub(crate) fn push(&mut self, frame: Vec<u8>) {
        self.frames.push_back(frame);
    }

    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        self.frames.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    fn front(&self) -> Option<&[u8]> {
        self.frames.front()?.get(self.written..)
    }

    fn advance(&mut self, length: usize) {
        self.written += length;
        if self.front().is_none_or(<[u8]>::is_empty) {
            self.frames.pop_front();
            self.written = 0;
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn wait_for(waited: &mut [PollFd<'_>], until: Instant) -> Result<(), AgentPipeError> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(AgentPipeError::Deadline);
        }
        let timeout = Timespec::try_from(left).map_err(|_| AgentPipeError::Deadline)?;
        match poll(waited, Some(&timeout)) {
            Ok(0) => return Err(AgentPipeError::Deadline),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
