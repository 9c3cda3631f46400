//! Making streams to the end that listens.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::{
    error::TcpJoinError,
    handshake::{ACCEPTED, REPLY, random},
    request::{TcpListenerAddress, TcpOpenRequest},
    socket::{bound, connected, with_scope},
};

/// One try: packets may be lost on the way, and an emulated node takes its time.
const TRY_TIMEOUT: Duration = Duration::from_secs(4);
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// A port that nobody listens on will not be listened on later: the peer did so before we were told of it.
const MOST_REFUSALS: u32 = 3;

enum TryError {
    Open(TcpJoinError),
    Io(io::Error),
    Stranger,
}

/// All streams, by number.
pub(crate) fn streams(
    request: &TcpOpenRequest,
    peer: &TcpListenerAddress,
    within: Duration,
    stop: &AtomicBool,
) -> Result<Vec<TcpStream>, TcpJoinError> {
    let until = Instant::now() + within;
    (0..request.connections())
        .map(|index| stream(request, index, peer, until, stop))
        .collect()
}

fn stream(
    request: &TcpOpenRequest,
    index: u16,
    peer: &TcpListenerAddress,
    until: Instant,
    stop: &AtomicBool,
) -> Result<TcpStream, TcpJoinError> {
    let mut refusals = 0;
    loop {
        let error = match attempt(request, index, peer) {
            Ok(stream) => return Ok(stream),
            Err(TryError::Open(error)) => return Err(error),
            Err(TryError::Stranger) => {
                let peer = peer.address;
                return Err(TcpJoinError::Stranger { peer });
            }
            Err(TryError::Io(error)) => error,
        };
        refusals += u32::from(error.kind() == ErrorKind::ConnectionRefused);
        if stop.load(Ordering::Relaxed) {
            return Err(TcpJoinError::Stopped);
        }
        if refusals >= MOST_REFUSALS || Instant::now() >= until {
            return Err(TcpJoinError::Connect {
                index,
                peer: peer.address,
                source: error,
            });
        }
        thread::sleep(RETRY_INTERVAL);
    }
}

fn attempt(
    request: &TcpOpenRequest,
    index: u16,
    peer: &TcpListenerAddress,
) -> Result<TcpStream, TryError> {
    let interface = request.interface.as_deref();
    let prepare = |source| {
        TryError::Open(TcpJoinError::Prepare {
            index,
            address: request.address,
            source: Box::new(source),
        })
    };
    let (socket, _) = bound(request.address, interface).map_err(prepare)?;
    let address = with_scope(peer.address, interface, &socket).map_err(prepare)?;
    let mut stream = connected(socket, address, TRY_TIMEOUT).map_err(TryError::Io)?;
    let mut greet = || -> io::Result<bool> {
        stream.set_read_timeout(Some(TRY_TIMEOUT))?;
        stream.set_write_timeout(Some(TRY_TIMEOUT))?;
        let nonce = random()?;
        stream.write_all(&peer.secret.hello(index, nonce))?;
        let mut reply = [0; REPLY];
        stream.read_exact(&mut reply)?;
        let Some(proof) = peer.secret.prove(index, nonce, &reply) else {
            return Ok(false);
        };
        stream.write_all(&proof)?;
        let mut accepted = [0];
        stream.read_exact(&mut accepted)?;
        Ok(accepted == [ACCEPTED])
    };
    match greet() {
        Ok(true) => Ok(stream),
        Ok(false) => Err(TryError::Stranger),
        Err(error) => Err(TryError::Io(error)),
    }
}
