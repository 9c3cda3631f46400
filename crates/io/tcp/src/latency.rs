//! A message there and one back, over and over.
//!
//! An end sleeps until the next one comes, as most programs do and as sockperf does. Polling for it would be quicker on
//! a node with cores to spare, and ten times slower where both ends, or other programs, share one.

use std::{
    io::Write,
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use crosstie_figures::{Histogram, MeasuredLatency, TestProgress, WINDOW_NANOSECONDS, nanoseconds};
use rustix::{
    io::Errno,
    net::{RecvFlags, recv},
};

use crate::{
    bandwidth::STREAM_TIMEOUT, clock, engine::JoinedTcpEngine, error::TcpRunError,
    figures::TcpFigures,
};

/// The first byte of a message, and of the one after which there is none.
const MESSAGE: u8 = 0;
const LAST_MESSAGE: u8 = 1;
/// The connector.
pub(crate) fn initiate(
    engine: &JoinedTcpEngine,
    stop: &AtomicBool,
    emit: &mut dyn FnMut(TestProgress),
) -> Result<TcpFigures, TcpRunError> {
    let times = engine.request.times;
    let mut exchange = Exchange::new(engine)?;
    let started = clock::now();
    let begin = started + nanoseconds(times.warm_up);
    let end = begin + nanoseconds(times.measure);
    let mut half_round_trips = Histogram::default();
    let (mut reported, mut messages, mut complete) = (started, 0, true);
    loop {
        let before = clock::now();
        exchange.send(MESSAGE)?;
        exchange.receive(None)?;
        let now = clock::now();
        if before >= begin {
            half_round_trips.record((now - before) / 2);
        }
        messages += 1;
        if now - reported >= WINDOW_NANOSECONDS {
            reported = now;
            emit(TestProgress {
                elapsed_nanoseconds: now - started,
                bytes: messages * u64::from(engine.request.size),
                messages,
            });
            complete = !stop.load(Ordering::Relaxed);
        }
        if now >= end || !complete {
            break;
        }
    }
    exchange.send(LAST_MESSAGE)?;
    exchange.receive(None)?;
    Ok(TcpFigures::Latency(MeasuredLatency {
        half_round_trips,
        complete,
    }))
}

/// The listener: each message goes back.
pub(crate) fn respond(
    engine: &JoinedTcpEngine,
    stop: &AtomicBool,
) -> Result<TcpFigures, TcpRunError> {
    let mut exchange = Exchange::new(engine)?;
    while let Some(kind) = exchange.receive(Some(stop))? {
        exchange.send(kind)?;
        if kind == LAST_MESSAGE {
            break;
        }
    }
    Ok(TcpFigures::Responded)
}

struct Exchange<'a> {
    engine: &'a JoinedTcpEngine,
    stream: &'a TcpStream,
    message: Vec<u8>,
}

impl<'a> Exchange<'a> {
    fn new(engine: &'a JoinedTcpEngine) -> Result<Self, TcpRunError> {
        // A latency test has one.
        let stream = &engine.streams[0];
        let exchange = Self {
            engine,
            stream,
            message: vec![0; engine.request.size as usize],
        };
        let silence = engine.request.times.silence();
        stream
            .set_read_timeout(Some(STREAM_TIMEOUT))
            .and_then(|()| stream.set_write_timeout(Some(silence)))
            .map_err(|error| exchange.failed(error))?;
        Ok(exchange)
    }

    #[inline]
    fn send(&mut self, kind: u8) -> Result<(), TcpRunError> {
        self.message[0] = kind;
        let mut stream = self.stream;
        let sent = stream.write_all(&self.message);
        sent.map_err(|error| self.failed(error))
    }

    /// What kind of message came, or `None` when `stop` is set.
    #[inline]
    fn receive(&mut self, stop: Option<&AtomicBool>) -> Result<Option<u8>, TcpRunError> {
        let mut filled = 0;
        let mut waited_since = None;
        while filled < self.message.len() {
            // It returns after `STREAM_TIMEOUT` without any.
            match recv(self.stream, &mut self.message[filled..], RecvFlags::empty()) {
                Ok((_, 0)) => {
                    let peer = self.engine.peer;
                    return Err(TcpRunError::Closed { peer });
                }
                Ok((length, _)) => filled += length,
                Err(Errno::AGAIN | Errno::INTR) => {
                    let since = *waited_since.get_or_insert_with(Instant::now);
                    let silence = self.engine.request.times.silence();
                    if since.elapsed() >= silence {
                        let peer = self.engine.peer;
                        return Err(TcpRunError::Silent { peer, silence });
                    }
                    if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                        return Ok(None);
                    }
                }
                Err(errno) => return Err(self.failed(errno.into())),
            }
        }
        let kind = self.message[0];
        if matches!(kind, MESSAGE | LAST_MESSAGE) {
            return Ok(Some(kind));
        }
        let peer = self.engine.peer;
        Err(TcpRunError::Unexpected { peer })
    }

    fn failed(&self, source: std::io::Error) -> TcpRunError {
        let peer = self.engine.peer;
        match source.kind() {
            std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset => {
                TcpRunError::Closed { peer }
            }
            _ => TcpRunError::Stream { peer, source },
        }
    }
}
