//! Opening, joining and going.

use std::{
    net::{IpAddr, TcpListener, TcpStream},
    sync::atomic::AtomicBool,
    time::Duration,
};

use crosstie_figures::Progress;

use crate::{
    accept::Accepting,
    bandwidth, connect,
    error::{GoError, JoinError, OpenError},
    figures::Figures,
    handshake::Secret,
    latency,
    request::{Endpoint, Listening, OpenRequest, Role, Test},
    socket::{bound, listening},
};

/// For the streams of both ends to meet.
const JOIN_TIMEOUT: Duration = Duration::from_secs(20);

/// An end without streams.
#[derive(Debug)]
pub struct OpenEngine {
    request: OpenRequest,
    listener: Option<(TcpListener, Secret)>,
}

/// An end with all its streams; its port is closed.
#[derive(Debug)]
pub struct JoinedEngine {
    pub(crate) request: OpenRequest,
    pub(crate) streams: Vec<TcpStream>,
    pub(crate) peer: IpAddr,
}

/// Binds to the fabric's address; the peer needs the endpoint to join. The end that listens has its port open from here on.
pub fn open(request: OpenRequest) -> Result<(OpenEngine, Endpoint), OpenError> {
    request.check()?;
    let address = request.address;
    // Also where this end connects: whether it could, is known before the peer waits for it.
    let (socket, unbound) = bound(address, request.interface.as_deref())?;
    let mut endpoint = Endpoint {
        address,
        listening: None,
        unbound,
    };
    let mut listener = None;
    if request.role == Role::Listener {
        let socket = listening(socket, address)?;
        let local = socket.local_addr().map_err(|source| OpenError::Socket {
            action: "listen on",
            address,
            source,
        })?;
        let secret = Secret::new().map_err(|errno| OpenError::Random(errno.into()))?;
        endpoint.listening = Some(Listening {
            address: local,
            secret: secret.clone(),
        });
        listener = Some((socket, secret));
    }
    Ok((OpenEngine { request, listener }, endpoint))
}

impl OpenEngine {
    /// Makes the streams. Both ends join at the same time.
    pub fn join(self, peer: &Endpoint, stop: &AtomicBool) -> Result<JoinedEngine, JoinError> {
        let request = self.request;
        let (streams, peer) = match (self.listener, &peer.listening) {
            (Some((listener, secret)), None) => {
                let accepting = Accepting {
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
                return Err(JoinError::SameRole { listens });
            }
        };
        Ok(JoinedEngine {
            request,
            streams,
            peer,
        })
    }
}

impl JoinedEngine {
    /// Measures until its time is over or `stop` is set; figures of what was measured until then are then not complete.
    pub fn go(
        &mut self,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(Progress),
    ) -> Result<Figures, GoError> {
        match (self.request.test, self.request.role) {
            (Test::Bandwidth { .. }, _) => bandwidth::run(self, stop, emit),
            (Test::Latency, Role::Connector) => latency::initiate(self, stop, emit),
            (Test::Latency, Role::Listener) => latency::respond(self, stop),
        }
    }

    pub fn peer(&self) -> IpAddr {
        self.peer
    }
}
