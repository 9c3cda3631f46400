//! As many bytes as the way to the peer takes: a thread a stream, large blocks.
//!
//! The receiver's clock rules. It tells the sender, by bytes that go the other way, when its measurement begins, when it ends
//! and when it has enough; so a sender's processor time is that of the same span, and no byte is sent for nothing.

use std::{
    net::{IpAddr, TcpStream},
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crosstie_figures::{MeasuredBandwidth, TestProgress, WINDOW_NANOSECONDS};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{RecvFlags, recv},
};

use crate::{
    clock,
    engine::JoinedTcpEngine,
    error::TcpRunError,
    figures::{SendCost, TcpFigures},
    receive::StreamReceiver,
    request::TcpOpenRequest,
    send::StreamSender,
    socket::timespec,
};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a thread waits for its stream at a time; `stop` is seen as late.
pub(crate) const STREAM_TIMEOUT: Duration = Duration::from_millis(100);

/// Where a receiver is. It tells the sender of each that it enters.
pub(crate) const WARMING_UP: u8 = 0;
pub(crate) const MEASURING: u8 = 1;
pub(crate) const MEASURED: u8 = 2;
pub(crate) const OVER: u8 = 3;

/// What the threads of one end share.
pub(crate) struct SharedTestState<'a> {
    pub(crate) request: &'a TcpOpenRequest,
    pub(crate) peer: IpAddr,
    pub(crate) stop: &'a AtomicBool,
    /// Set when one of them failed: the others have nothing left to do.
    pub(crate) failed: AtomicBool,
    /// When the first byte of any stream came in.
    pub(crate) started: OnceLock<u64>,
    pub(crate) received: AtomicU64,
}

impl SharedTestState<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn error(&self, source: std::io::Error) -> TcpRunError {
        let peer = self.peer;
        match source.kind() {
            std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset => {
                TcpRunError::Closed { peer }
            }
            _ => TcpRunError::Stream { peer, source },
        }
    }

    pub(crate) fn silent(&self) -> TcpRunError {
        TcpRunError::Silent {
            peer: self.peer,
            silence: self.request.times.silence(),
        }
    }
}

enum Ended {
    Received(MeasuredBandwidth),
    Sent(SendCost),
}

pub(crate) fn run(
    engine: &JoinedTcpEngine,
    stop: &AtomicBool,
    emit: &mut dyn FnMut(TestProgress),
) -> Result<TcpFigures, TcpRunError> {
    let shared = SharedTestState {
        request: &engine.request,
        peer: engine.peer,
        stop,
        failed: AtomicBool::new(false),
        started: OnceLock::new(),
        received: AtomicU64::new(0),
    };
    let phases: Vec<AtomicU8> = engine
        .streams
        .iter()
        .map(|_| AtomicU8::new(WARMING_UP))
        .collect();
    let ended = thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut sending = Vec::new();
        for ((number, stream), phase) in (0..).zip(&engine.streams).zip(&phases) {
            let shared = &shared;
            let work = move |work: &dyn Fn() -> Result<Ended, TcpRunError>| {
                let ended = work();
                if ended.is_err() {
                    shared.failed.store(true, Ordering::Relaxed);
                }
                ended
            };
            let thread = if engine.request.sends(number) {
                sending.push((stream, phase));
                thread::Builder::new().spawn_scoped(scope, move || {
                    work(&|| {
                        StreamSender {
                            shared,
                            stream,
                            phase,
                        }
                        .run()
                        .map(Ended::Sent)
                    })
                })
            } else {
                thread::Builder::new().spawn_scoped(scope, move || {
                    work(&|| StreamReceiver { shared, stream }.run().map(Ended::Received))
                })
            };
            match thread {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.failed.store(true, Ordering::Relaxed);
                    return vec![Err(TcpRunError::Thread(error))];
                }
            }
        }
        supervise(&shared, &sending, emit, || {
            threads.iter().all(thread::ScopedJoinHandle::is_finished)
        });
        let panicked = |_| Err(shared.silent());
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(panicked))
            .collect()
    });
    figures(ended)
}

/// Adds up, or the first error. One that only saw a stream closed comes after one that knows why.
fn figures(ended: Vec<Result<Ended, TcpRunError>>) -> Result<TcpFigures, TcpRunError> {
    let (mut received, mut sent): (Vec<MeasuredBandwidth>, Option<SendCost>) = (Vec::new(), None);
    let mut errors = Vec::new();
    for one in ended {
        match one {
            Ok(Ended::Received(bandwidth)) => received.push(bandwidth),
            Ok(Ended::Sent(one)) => {
                let sum = sent.get_or_insert_default();
                sum.bytes += one.bytes;
                sum.processor_nanoseconds += one.processor_nanoseconds;
            }
            Err(error) => errors.push(error),
        }
    }
    errors.sort_by_key(|error| matches!(error, TcpRunError::Closed { .. }));
    match errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(TcpFigures::Bandwidth {
            received: MeasuredBandwidth::sum(received),
            sent,
        }),
    }
}

/// Tells senders what their receivers say, and whoever watches how far it is, until all threads have ended. A thread ends
/// by itself once it is silent, stopped or over.
fn supervise(
    shared: &SharedTestState<'_>,
    sending: &[(&TcpStream, &AtomicU8)],
    emit: &mut dyn FnMut(TestProgress),
    all_ended: impl Fn() -> bool,
) {
    let mut reported = 0;
    let latest =
        Instant::now() + shared.request.times.running() + 3 * shared.request.times.silence();
    let mut closed = vec![false; sending.len()];
    while !all_ended() {
        if Instant::now() >= latest {
            shared.failed.store(true, Ordering::Relaxed);
        }
        listen(sending, &mut closed);
        let Some(started) = shared.started.get() else {
            continue;
        };
        let elapsed = clock::now() - started;
        if elapsed - reported >= WINDOW_NANOSECONDS {
            reported = elapsed;
            emit(TestProgress {
                elapsed_nanoseconds: elapsed,
                bytes: shared.received.load(Ordering::Relaxed),
                messages: 0,
            });
        }
    }
}

/// Waits a moment for what receivers say.
fn listen(sending: &[(&TcpStream, &AtomicU8)], closed: &mut [bool]) {
    let open: Vec<usize> = (0..sending.len()).filter(|place| !closed[*place]).collect();
    let mut fds: Vec<PollFd<'_>> = open
        .iter()
        .map(|place| PollFd::new(sending[*place].0, PollFlags::IN))
        .collect();
    if !matches!(poll(&mut fds, Some(&timespec(POLL_INTERVAL))), Ok(1..)) {
        return;
    }
    for (place, fd) in open.iter().zip(&fds) {
        if fd.revents().is_empty() {
            continue;
        }
        let (stream, phase) = sending[*place];
        let mut said = [0_u8; 8];
        match recv(stream, &mut said[..], RecvFlags::DONTWAIT) {
            // Its thread finds out why.
            Ok((_, 0)) => closed[*place] = true,
            Ok((_, length)) => {
                let latest = said[..length.min(said.len())].iter().copied().max();
                phase.fetch_max(latest.unwrap_or(WARMING_UP).min(OVER), Ordering::Relaxed);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => closed[*place] = true,
        }
    }
}
