//! Taking streams from the peer, and from nobody else.
//!
//! Anyone can connect while the port is open. A stranger costs one of a few places for at most [`HANDSHAKE_TIMEOUT`], is
//! told nothing, and gives its place up to whoever comes next.

use std::{
    io::{ErrorKind, Read, Write},
    net::{IpAddr, TcpListener, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

use crate::{
    error::TcpJoinError,
    handshake::{ACCEPTED, HELLO, PROOF, StreamHandshake, StreamSecret, random},
    socket::timespec,
};

/// An emulated node takes its time for a code.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);
/// Connections that have not proven anything yet.
const MOST_PENDING: usize = 64;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) struct StreamAcceptor<'a> {
    pub(crate) listener: TcpListener,
    pub(crate) secret: &'a StreamSecret,
    pub(crate) peer: IpAddr,
    pub(crate) count: u16,
    pub(crate) within: Duration,
}

struct Pending {
    stream: TcpStream,
    until: Instant,
    buffer: [u8; HELLO],
    filled: usize,
    /// Of one that sent a first message of ours.
    exchange: Option<StreamHandshake>,
}

/// What became of one that had something to say.
enum Next {
    Wait,
    Drop,
    Take(u16),
}

impl StreamAcceptor<'_> {
    /// All streams, by number. The port is closed however this ends.
    pub(crate) fn streams(self, stop: &AtomicBool) -> Result<Vec<TcpStream>, TcpJoinError> {
        let until = Instant::now() + self.within;
        let mut streams: Vec<Option<TcpStream>> = (0..self.count).map(|_| None).collect();
        let mut pending: Vec<Pending> = Vec::new();
        while streams.iter().any(Option::is_none) {
            if stop.load(Ordering::Relaxed) {
                return Err(TcpJoinError::Stopped);
            }
            if Instant::now() >= until {
                return Err(TcpJoinError::Missing {
                    got: streams.iter().flatten().count(),
                    wanted: self.count,
                    peer: self.peer,
                    within: self.within,
                });
            }
            let ready = self.wait(&pending)?;
            let now = Instant::now();
            let mut flags = ready.iter().skip(1);
            pending = pending
                .into_iter()
                .filter_map(|mut one| {
                    let is_ready = flags.next().is_some_and(|flag| *flag);
                    let next = if is_ready {
                        one.advance(self.secret)
                    } else {
                        Next::Wait
                    };
                    match next {
                        Next::Wait => (now < one.until).then_some(one),
                        Next::Drop => None,
                        Next::Take(number) => {
                            // Twice the same is one of them too many.
                            if let Some(place @ None) = streams.get_mut(usize::from(number)) {
                                *place = one.accepted();
                            }
                            None
                        }
                    }
                })
                .collect();
            self.accept(&mut pending)?;
        }
        Ok(streams.into_iter().flatten().collect())
    }

    /// Which of the listener and the pending ones, in that order, have something for us.
    fn wait(&self, pending: &[Pending]) -> Result<Vec<bool>, TcpJoinError> {
        let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
        fds.extend(
            pending
                .iter()
                .map(|one| PollFd::new(&one.stream, PollFlags::IN)),
        );
        match poll(&mut fds, Some(&timespec(POLL_INTERVAL))) {
            Ok(_) | Err(Errno::INTR) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
            Err(errno) => Err(TcpJoinError::Accept(errno.into())),
        }
    }

    fn accept(&self, pending: &mut Vec<Pending>) -> Result<(), TcpJoinError> {
        for _ in 0..MOST_PENDING {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    // One that has gone again, or a signal.
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => continue,
                    _ => return Err(TcpJoinError::Accept(error)),
                },
            };
            if from.ip() != self.peer || stream.set_nonblocking(true).is_err() {
                continue;
            }
            if pending.len() >= MOST_PENDING {
                // The oldest that has said nothing of ours: the peer speaks as soon as it is connected.
                let silent = pending.iter().position(|one| one.exchange.is_none());
                pending.remove(silent.unwrap_or(0));
            }
            pending.push(Pending {
                stream,
                until: Instant::now() + HANDSHAKE_TIMEOUT,
                buffer: [0; HELLO],
                filled: 0,
                exchange: None,
            });
        }
        Ok(())
    }
}

impl Pending {
    fn advance(&mut self, secret: &StreamSecret) -> Next {
        let wanted = if self.exchange.is_none() {
            HELLO
        } else {
            PROOF
        };
        match self.stream.read(&mut self.buffer[self.filled..wanted]) {
            Ok(0) => return Next::Drop,
            Ok(length) => self.filled += length,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::Interrupted => Next::Wait,
                    _ => Next::Drop,
                };
            }
        }
        if self.filled < wanted {
            return Next::Wait;
        }
        self.filled = 0;
        let Some(exchange) = &self.exchange else {
            let Ok(nonce) = random() else {
                return Next::Drop;
            };
            let Some((exchange, reply)) = secret.reply(&self.buffer, nonce) else {
                return Next::Drop;
            };
            self.exchange = Some(exchange);
            // It fits into any socket's empty buffer.
            return match self.stream.write(&reply) {
                Ok(length) if length == reply.len() => Next::Wait,
                _ => Next::Drop,
            };
        };
        let mut proof = [0; PROOF];
        proof.copy_from_slice(&self.buffer[..PROOF]);
        if secret.is_proven(exchange, &proof) {
            Next::Take(exchange.stream)
        } else {
            Next::Drop
        }
    }

    /// Ready for data, and told so.
    fn accepted(mut self) -> Option<TcpStream> {
        self.stream.set_nonblocking(false).ok()?;
        self.stream.set_nodelay(true).ok()?;
        self.stream.write_all(&[ACCEPTED]).ok()?;
        Some(self.stream)
    }
}
