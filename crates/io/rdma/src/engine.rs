//! Opening, joining and going.

use std::{sync::atomic::AtomicBool, time::Instant};

use crosstie_fabric::wire::roce_path_mtu;
use crosstie_model::facts::rdma::LinkLayer;
use crosstie_verbs::{
    Access, AsyncEventKind as Kind, CompletionQueue, Context, CreateError, Device, Endpoint,
    Initialised, Library, MemoryRegion, PathMtu, Port, PortAddress, PortState, ProtectionDomain,
    QueuePair, QueuePairOptions, ReadyToSend,
};

use crate::{
    bandwidth,
    error::{GoError, JoinError, OpenError, RequestError},
    figures::{Figures, Progress},
    latency::{self, LatencyWork},
    request::{OpenRequest, Role, Test},
    ring::{Layout, Ring},
};

/// Receives that are posted ahead, for messages that use one up.
pub(crate) const RECEIVE_DEPTH: u32 = 64;

/// Queue pairs that do not know their peers yet.
#[derive(Debug)]
pub struct OpenEngine {
    parts: Parts,
    from: PortAddress,
    reads: u8,
    own: Vec<Endpoint>,
    pairs: Vec<QueuePair<Initialised>>,
}

/// Queue pairs that may send.
#[derive(Debug)]
pub struct JoinedEngine {
    parts: Parts,
    connections: Vec<Connection>,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Bandwidth,
    Latency(LatencyWork),
}

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) request: OpenRequest,
    pub(crate) context: Context,
    pub(crate) memory: MemoryRegion,
    pub(crate) layout: Layout,
    pub(crate) sends: CompletionQueue,
    pub(crate) receives: CompletionQueue,
}

/// A queue pair and what is under way on it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) pair: QueuePair<ReadyToSend>,
    pub(crate) ring: Ring,
    pub(crate) posted: u64,
    pub(crate) completed: u64,
}

/// Makes the queue pairs of a test; the peer needs the endpoints to join.
pub fn open(
    library: &Library,
    request: OpenRequest,
) -> Result<(OpenEngine, Vec<Endpoint>), OpenError> {
    request.check()?;
    let layout = Layout::new(&request)?;
    let context = Device::find(&library.devices()?, &request.device)?.open()?;
    let port = active_port(&context, request.port)?;
    let mtu = path_mtu(&request, &port)?;
    let from = context.port_address(&port, request.address)?;
    let limits = context.limits()?;
    let domain = context.protection_domain()?;
    let access = Access {
        remote_write: true,
        remote_read: true,
        relaxed_ordering: request.relaxed_ordering,
    };
    let length = usize::try_from(layout.bytes()).unwrap_or(usize::MAX);
    let memory = domain.register(length, access)?;
    let queue_pairs = u32::from(request.queue_pairs);
    let sends = context.completion_queue(request.depth.saturating_mul(queue_pairs))?;
    let receives = context.completion_queue(RECEIVE_DEPTH.saturating_mul(queue_pairs))?;
    let pairs = make_pairs(&request, &domain, &sends, &receives)?;
    let endpoint = |pair: &QueuePair<Initialised>| {
        pair.endpoint(&from, mtu, limits.reads_answered, memory.remote())
    };
    let own: Vec<Endpoint> = pairs.iter().map(endpoint).collect();
    let engine = OpenEngine {
        parts: Parts {
            request,
            context,
            memory,
            layout,
            sends,
            receives,
        },
        from,
        reads: limits.reads_begun,
        own: own.clone(),
        pairs,
    };
    Ok((engine, own))
}

fn active_port(context: &Context, number: u8) -> Result<Port, OpenError> {
    let port = context.port(number)?;
    if port.state == PortState::Active {
        return Ok(port);
    }
    Err(OpenError::PortState {
        device: context.device_name().to_owned(),
        port: number,
        state: port.state,
    })
}

fn make_pairs(
    request: &OpenRequest,
    domain: &ProtectionDomain,
    sends: &CompletionQueue,
    receives: &CompletionQueue,
) -> Result<Vec<QueuePair<Initialised>>, CreateError> {
    let make = |options: QueuePairOptions| {
        (0..request.queue_pairs)
            .map(|_| domain.queue_pair(request.port, sends, receives, options))
            .collect::<Result<Vec<_>, _>>()
    };
    let options = request.queue_pair_options(RECEIVE_DEPTH);
    match make(options) {
        // A device may allow less inline data, or none, and does not say how much before it is asked.
        Err(CreateError::BeyondLimits { .. }) if options.inline_bytes > 0 => {
            make(QueuePairOptions {
                inline_bytes: 0,
                ..options
            })
        }
        pairs => pairs,
    }
}

fn path_mtu(request: &OpenRequest, port: &Port) -> Result<PathMtu, OpenError> {
    if port.link_layer == LinkLayer::InfiniBand {
        let mtu = port.active_mtu.ok_or(RequestError::PortMtu(port.number))?;
        return Ok(mtu);
    }
    let derived = request.interface_mtu.and_then(roce_path_mtu);
    Ok(PathMtu::try_from(
        derived.ok_or(RequestError::InterfaceMtu)?,
    )?)
}

impl OpenEngine {
    /// Connects each queue pair with the peer's of the same place.
    pub fn join(self, peers: &[Endpoint]) -> Result<JoinedEngine, JoinError> {
        let Self {
            parts,
            from,
            reads,
            own,
            pairs,
        } = self;
        let count = pairs.len();
        if peers.len() != count {
            return Err(JoinError::Count {
                ours: count,
                theirs: peers.len(),
            });
        }
        let path = parts.request.path(reads);
        let mut connections = Vec::with_capacity(count);
        for (index, ((pair, own), peer)) in pairs.into_iter().zip(&own).zip(peers).enumerate() {
            if peer.memory.length != own.memory.length {
                let (ours, theirs) = (own.memory.length, peer.memory.length);
                return Err(JoinError::Memory { ours, theirs });
            }
            let connected = pair
                .ready_to_receive(&from, own, peer, path)
                .and_then(|pair| pair.ready_to_send(peer, path));
            let pair = connected.map_err(|source| JoinError::Connect {
                index,
                count,
                source,
            })?;
            let inline = parts.request.is_inline(pair.inline_bytes());
            let ring = Ring::new(&parts, index, inline, peer.memory)?;
            connections.push(Connection {
                pair,
                ring,
                posted: 0,
                completed: 0,
            });
        }
        let work = match parts.request.test {
            Test::Bandwidth { .. } => Work::Bandwidth,
            Test::Latency => Work::Latency(LatencyWork::new(&parts, &mut connections, peers)?),
        };
        Ok(JoinedEngine {
            parts,
            connections,
            work,
        })
    }
}

impl JoinedEngine {
    /// Measures until its time is over or `stop` is set; figures of what was measured until then are then not complete.
    /// The responder of a bandwidth test has nothing to do, and is told by `stop` that it is over. `emit` is called ten
    /// times a second.
    pub fn go(
        &mut self,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(Progress),
    ) -> Result<Figures, GoError> {
        let Self {
            parts,
            connections,
            work,
        } = self;
        match (work, parts.request.role) {
            (Work::Bandwidth, Role::Initiator) => {
                bandwidth::initiate(parts, connections, stop, emit)
            }
            (Work::Bandwidth, Role::Responder) => bandwidth::respond(parts, stop),
            (Work::Latency(work), Role::Initiator) => {
                latency::initiate(parts, connections, work, stop, emit)
            }
            (Work::Latency(work), Role::Responder) => {
                latency::respond(parts, connections, work, stop)
            }
        }
    }
}

impl Parts {
    /// An error if the device has told of something that ends a test.
    pub(crate) fn check_events(&self, deadline: Instant) -> Result<(), GoError> {
        while let Some(event) = self.context.async_event(deadline)? {
            let harmless = [
                Kind::Connected,
                Kind::PortActive,
                Kind::Drained,
                Kind::GidChange,
            ];
            if !harmless.contains(&event.kind) {
                return Err(GoError::Event(event.kind));
            }
        }
        Ok(())
    }
}
