//! Ctrl-C and its kin: whoever we started ends before we do.

use std::{
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    sync::{
        Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crosstie_node::child_processes::signal_all;
use rustix::{
    event::{EventfdFlags, eventfd},
    process::Signal,
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    low_level::{emulate_default_handler, pipe},
};

/// Enough for ssh to tell its helpers, and for a last word to leave us.
const SIGNAL_STEP_INTERVAL: Duration = Duration::from_millis(100);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Readable once a signal has come, and from then on: nobody reads it.
static SIGNAL_EVENT: OnceLock<OwnedFd> = OnceLock::new();

/// Agents' sessions in this process.
static SESSIONS: Mutex<Vec<Weak<dyn EndOnSignal>>> = Mutex::new(Vec::new());

/// What has to be ended in order before this process is.
pub trait EndOnSignal: Send + Sync {
    /// Returns once it is done, within seconds.
    fn end(&self);
}

/// For as long as somebody has it.
pub fn end_on_signals(session: Weak<dyn EndOnSignal>) {
    let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    sessions.retain(|session| session.strong_count() > 0);
    sessions.push(session);
}

/// After their children were told to end, so that those which they start to clean up are not.
fn end_sessions() {
    let sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let sessions: Vec<_> = sessions.iter().filter_map(Weak::upgrade).collect();
    for session in sessions {
        session.end();
    }
}

/// What is done when a signal has ended all else: a terminal that is made to speak again, a last word.
static BEFORE_EXIT: OnceLock<fn()> = OnceLock::new();

/// Whoever comes first: a process has one terminal.
pub fn run_before_exit(work: fn()) {
    let _ = BEFORE_EXIT.set(work);
}

/// From now on these signals end every child first. Calls that are under way are cancelled before that; an agent over ssh
/// ends when its input does.
pub fn end_children_on_signals() -> io::Result<()> {
    if SIGNAL_EVENT.get().is_some() {
        return Ok(());
    }
    let _ = SIGNAL_EVENT.set(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let (mut told, tells) = UnixStream::pair()?;
        pipe::register(signal, tells)?;
        thread::Builder::new().spawn(move || {
            if io::Read::read(&mut told, &mut [0]).is_ok() {
                INTERRUPTED.store(true, Ordering::SeqCst);
                cancel_calls();
                signal_all(Signal::TERM);
                end_sessions();
                thread::sleep(SIGNAL_STEP_INTERVAL);
                signal_all(Signal::KILL);
                if let Some(work) = BEFORE_EXIT.get() {
                    work();
                }
                let _ = emulate_default_handler(signal);
            }
        })?;
    }
    Ok(())
}

/// Those who wait for an answer hear of the signal and tell the agent.
fn cancel_calls() {
    if let Some(told) = SIGNAL_EVENT.get() {
        let _ = rustix::io::write(told, &1u64.to_ne_bytes());
    }
    thread::sleep(SIGNAL_STEP_INTERVAL);
}

/// What a wait for an answer watches, too.
pub(crate) fn signal_descriptor() -> Option<BorrowedFd<'static>> {
    SIGNAL_EVENT.get().map(AsFd::as_fd)
}

/// Whatever ended because of a signal is no result: this process is about to end of it too.
pub fn end_if_interrupted() {
    while INTERRUPTED.load(Ordering::SeqCst) {
        thread::sleep(SIGNAL_STEP_INTERVAL);
    }
}
