//! The agent: answers calls on standard input and output, until nobody is there any more.
//!
//! The thread that reads does nothing else, so that a call that hangs, or a controller that does not listen, cannot keep
//! the agent from noticing that it is alone.

mod calls;

use std::{
    io::{self, Write},
    os::fd::AsFd,
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use thiserror::Error;

use crate::protocol::{FrameError, Frames, Kind, MAGIC, ToAgent, What};
use calls::Calls;

/// A controller that says nothing for this long is gone; it pings far more often.
pub const SILENCE: Duration = Duration::from_secs(30);

/// For drivers to bring links down; what takes longer is left to the next run.
const PUT_BACK: Duration = Duration::from_secs(5);

/// Frames that wait to be written.
const WAITING_FRAMES: usize = 8;

/// Why the agent stopped other than by the controller's leaving.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error("nothing came from the controller for {} s", .0.as_secs())]
    Silence(Duration),
    #[error("cannot read from the controller")]
    Read(#[source] io::Error),
    #[error("cannot write to the controller")]
    Write(#[source] io::Error),
    #[error("the controller sent {0}")]
    Frame(#[from] FrameError),
    #[error("the controller sent a message that makes no sense")]
    Message(#[source] serde_json::Error),
}

/// Serves until the input ends. What calls have changed for as long as they run is put back then; what they have started
/// is the caller's to end, with the process.
pub fn serve(
    input: impl AsFd,
    output: impl Write + Send + 'static,
    build: &str,
    silence: Duration,
) -> Result<(), ServeError> {
    let mut asked = false;
    let served = answer_calls(input, output, build, silence, &mut asked);
    crosstie_node::cabling::stop_all(PUT_BACK);
    crosstie_node::change::abandon();
    if !asked {
        crosstie_node::trust::leave_no_agent();
    }
    served
}

fn answer_calls(
    input: impl AsFd,
    mut output: impl Write + Send + 'static,
    build: &str,
    silence: Duration,
    asked: &mut bool,
) -> Result<(), ServeError> {
    let version = env!("CARGO_PKG_VERSION");
    write!(output, "\n{MAGIC} agent {build} {version}\n")
        .and_then(|()| output.flush())
        .map_err(ServeError::Write)?;
    let (sender, receiver) = mpsc::sync_channel(WAITING_FRAMES);
    thread::spawn(move || write_frames(output, &receiver));
    let mut calls = Calls::new(sender);
    let mut frames = Frames::default();
    let mut heard = Instant::now();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let now = Instant::now();
        calls.expire(now);
        let alone = heard + silence;
        if now >= alone {
            return Err(ServeError::Silence(silence));
        }
        let until = calls.next_deadline().map_or(alone, |next| next.min(alone));
        if !readable(&input, until.saturating_duration_since(now))? {
            continue;
        }
        let length = match rustix::io::read(&input, &mut buffer[..]) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(errno) => return Err(ServeError::Read(errno.into())),
        };
        heard = Instant::now();
        frames.push(&buffer[..length]);
        while let Some(frame) = frames.next_frame()? {
            if frame.kind != Kind::Message {
                return Err(FrameError::Kind(frame.kind as u8).into());
            }
            let message: ToAgent =
                serde_json::from_slice(&frame.payload).map_err(ServeError::Message)?;
            *asked |= matches!(&message, ToAgent::Call { what, .. } if *what != What::Hello);
            calls.take(message);
        }
    }
}

fn readable(input: &impl AsFd, wait: Duration) -> Result<bool, ServeError> {
    let mut waited = [PollFd::new(input, PollFlags::IN)];
    let timeout = Timespec::try_from(wait).ok();
    match poll(&mut waited, timeout.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(ServeError::Read(errno.into())),
    }
}

/// Ends when nobody reads any more; the reading side then sees the end of input.
fn write_frames(mut output: impl Write, frames: &Receiver<Vec<u8>>) {
    while let Ok(frame) = frames.recv() {
        if output
            .write_all(&frame)
            .and_then(|()| output.flush())
            .is_err()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
