//! Opening, joining and going.

use std::{
    net::{IpAddr, TcpListener, TcpStream},
    sync::atomic::AtomicBool,
    time::Duration,
};

use crosstie_figures::TestProgress;

use crate::{
    accept::StreamAcceptor,
    bandwidth, connect,
    error::{TcpJoinError, TcpOpenError, TcpRunError},
    figures::TcpFigures,
    handshake::StreamSecret,
    latency,
    request::{TcpEndpoint, TcpListenerAddress, TcpOpenRequest, TcpRole, TcpTest},
    socket::{bound, listening},
};

/// For the streams of both ends to meet.
const JOIN_TIMEOUT: Duration = Duration::from_secs(20);

/// An end without streams.
#[derive(Debug)]
pub struct OpenTcpEngine {
    request: TcpOpenRequest,
    listener: Option<(TcpListener, StreamSecret)>,
}

/// An end with all its streams; its port is closed.
#[derive(Debug)]
pub struct JoinedTcpEngine {
    pub(crate) request: TcpOpenRequest,
    pub(crate) streams: Vec<TcpStream>,
    pub(crate) peer: IpAddr,
}

/// Binds to the fabric's address; the peer needs the endpoint to join. The end that listens has its port open from here on.
pub fn open(request: TcpOpenRequest) -> Result<(OpenTcpEngine, TcpEndpoint), TcpOpenError> {
    request.check()?;
    let address = request.address;
    // Also where this end connects: whether it could, is known before the peer waits for it.
    let (socket, unbound) = bound(address, request.interface.as_deref())?;
    let mut endpoint = TcpEndpoint {
        address,
        listening: None,
        unbound,
    };
    let mut listener = None;
    if request.role == TcpRole::Listener {
        let socket = listening(socket, address)?;
        let local = socket.local_addr().map_err(|source| TcpOpenError::Socket {
            action: "listen on",
            address,
            source,
        })?;
        let secret = StreamSecret::new().map_err(|errno| TcpOpenError::Random(errno.into()))?;
        endpoint.listening = Some(TcpListenerAddress {
            address: local,
            secret: secret.clone(),
        });
        listener = Some((socket, secret));
    }
    Ok((OpenTcpEngine { request, listener }, endpoint))
}

impl OpenTcpEngine {
    /// Makes the streams. Both ends join at the same time.
    pub fn join(
        self,
        peer: &TcpEndpoint,
        stop: &AtomicBool,
    ) -> Result<JoinedTcpEngine, TcpJoinError> {
        let request = self.request;
        let (streams, peer) = match (self.listener, &peer.listening) {
            (Some((listener, secret)), None) => {
                let accepting = StreamAcceptor {
                    listener,
                    secret: &secret,
                    peer: peer.address,
                    count: request.connections(),
                    within: JOIN_TIMEOUT,
                };
                (accepting.streams(stop)?, peer.address)
            }
            (None, Some(listening)) => {
                let streams = connect::streams(&request, listening, JOIN_TIMEOUT, stop)?;
                (streams, listening.address.ip())
            }
            (listener, _) => {
                let listens = listener.is_some();
                return Err(TcpJoinError::SameRole { listens });
            }
        };
        Ok(JoinedTcpEngine {
            request,
            streams,
            peer,
        })
    }
}

impl JoinedTcpEngine {
    /// Measures until its time is over or `stop` is set; figures of what was measured until then are then not complete.
    pub fn go(
        &mut self,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(TestProgress),
    ) -> Result<TcpFigures, TcpRunError> {
        match (self.request.test, self.request.role) {
            (TcpTest::Bandwidth { .. }, _) => bandwidth::run(self, stop, emit),
            (TcpTest::Latency, TcpRole::Connector) => latency::initiate(self, stop, emit),
            (TcpTest::Latency, TcpRole::Listener) => latency::respond(self, stop),
        }
    }

    pub fn peer(&self) -> IpAddr {
        self.peer
    }
}
