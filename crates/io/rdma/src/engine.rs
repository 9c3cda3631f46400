//! Opening, joining and going.

use std::{sync::atomic::AtomicBool, time::Instant};

use crosstie_fabric::wire::roce_path_mtu;
use crosstie_model::facts::rdma::LinkLayer;
use crosstie_verbs::{
    Access, AsyncEventKind as Kind, CompletionQueue, Context, CreateError, Device, Endpoint,
    Initialised, Library, MemoryRegion, PathMtu, Port, PortAddress, PortState, QueuePair,
    QueuePairOptions, ReadyToSend,
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
pub(crate) const RECEIVES: u32 = 64;

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
    lanes: Vec<Lane>,
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
pub(crate) struct Lane {
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
    let port = context.port(request.port)?;
    if port.state != PortState::Active {
        return Err(OpenError::PortState {
            device: request.device,
            port: port.number,
            state: port.state,
        });
    }
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
    let entries = request.depth.saturating_mul(request.queue_pairs.into());
    let sends = context.completion_queue(entries)?;
    let receives = context.completion_queue(RECEIVES.saturating_mul(request.queue_pairs.into()))?;
    let make = |options: QueuePairOptions| {
        (0..request.queue_pairs)
            .map(|_| domain.queue_pair(request.port, &sends, &receives, options))
            .collect::<Result<Vec<_>, _>>()
    };
    let options = request.queue_pair_options(RECEIVES);
    let pairs = match make(options) {
        // A device may allow less inline data, or none, and does not say how much before it is asked.
        Err(CreateError::BeyondLimits { .. }) if options.inline_bytes > 0 => {
            make(QueuePairOptions {
                inline_bytes: 0,
                ..options
            })?
        }
        pairs => pairs?,
    };
    let endpoint = |pair: &QueuePair<Initialised>| {
        pair.endpoint(&from, mtu, limits.reads_answered, memory.remote())
    };
    let own: Vec<Endpoint> = pairs.iter().map(endpoint).collect();
    let parts = Parts {
        request,
        context,
        memory,
        layout,
        sends,
        receives,
    };
    let engine = OpenEngine {
        parts,
        from,
        reads: limits.reads_begun,
        own: own.clone(),
        pairs,
    };
    Ok((engine, own))
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
        let mut lanes = Vec::with_capacity(count);
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
            lanes.push(Lane {
                pair,
                ring,
                posted: 0,
                completed: 0,
            });
        }
        let work = match parts.request.test {
            Test::Bandwidth { .. } => Work::Bandwidth,
            Test::Latency => Work::Latency(LatencyWork::new(&parts, &mut lanes, peers)?),
        };
        Ok(JoinedEngine { parts, lanes, work })
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
        let Self { parts, lanes, work } = self;
        match (work, parts.request.role) {
            (Work::Bandwidth, Role::Initiator) => bandwidth::send(parts, lanes, stop, emit),
            (Work::Bandwidth, Role::Responder) => bandwidth::stand_by(parts, stop),
            (Work::Latency(work), Role::Initiator) => latency::ask(parts, lanes, work, stop, emit),
            (Work::Latency(work), Role::Responder) => latency::answer(parts, lanes, work, stop),
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
