//! Opening, joining and going.

use std::{sync::atomic::AtomicBool, time::Instant};

use crosstie_fabric::{placement::MemoryBudget, wire::roce_path_mtu};
use crosstie_model::facts::rdma::LinkLayer;
use crosstie_verbs::{
    Access, AsyncEventKind as Kind, CompletionQueue, Context, CreateError, Device, DeviceLimits,
    Endpoint, Initialised, Library, MemoryRegion, PathMtu, Port, PortAddress, PortState,
    ProtectionDomain, QueuePair, QueuePairOptions, ReadyToSend, RemoteMemory,
};
use serde::{Deserialize, Serialize};

use crate::{
    bandwidth,
    error::{GoError, JoinError, OpenError, PrepareError, RequestError},
    failure,
    figures::{Figures, Progress},
    latency::{self, LatencyWork},
    receiver::{Receiver, receives_ahead},
    request::{OpenRequest, Role, SPARE_SENDS, Test, Transfer},
    ring::Ring,
    size_plan::{MemoryCap, SizePlan, bytes_of, within},
    verify::{self, VerifyWork},
};

/// What the machine lets an engine have.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings {
    pub memory: Option<MemoryBudget>,
    /// Processors are short: whoever waits lets others run.
    pub yields: bool,
}

/// What the peer has to be told to join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    pub endpoints: Vec<Endpoint>,
    /// Bytes of the longest message that there is memory for; the lesser of both ends' counts.
    pub longest: u32,
}

/// Queue pairs that do not know their peers yet.
#[derive(Debug)]
pub struct OpenEngine {
    parts: Parts,
    cap: Option<MemoryCap>,
    from: PortAddress,
    reads: u8,
    own: Offer,
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
    Bandwidth(Option<Receiver>),
    Latency(LatencyWork),
    Verify(Transfer, VerifyWork),
}

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) request: OpenRequest,
    pub(crate) plans: Vec<SizePlan>,
    pub(crate) context: Context,
    pub(crate) memory: MemoryRegion,
    pub(crate) sends: CompletionQueue,
    pub(crate) receives: CompletionQueue,
    pub(crate) yields: bool,
}

/// A queue pair and what is under way on it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) pair: QueuePair<ReadyToSend>,
    pub(crate) peer: RemoteMemory,
    pub(crate) ring: Ring,
    pub(crate) posted: u64,
    pub(crate) completed: u64,
}

/// Makes the queue pairs of a test; the peer needs the offer to join. The calling thread's memory policy holds for the buffers:
/// registering them touches them first.
pub fn open(
    library: &Library,
    mut request: OpenRequest,
    surroundings: Surroundings,
) -> Result<OpenEngine, OpenError> {
    request.check()?;
    // What no machine could have is refused before a device is asked.
    within(&request, None)?;
    let context = Device::find(&library.devices()?, &request.device)?.open()?;
    let port = active_port(&context, request.port)?;
    let mtu = path_mtu(&request, &port)?;
    let from = context.port_address(&port, request.address)?;
    let limits = context.limits()?;
    limit_depth(&mut request, limits);
    let (plans, cap) = within(&request, surroundings.memory)?;
    let domain = context.protection_domain()?;
    let access = Access {
        remote_write: true,
        remote_read: true,
        relaxed_ordering: request.relaxed_ordering,
    };
    let length = usize::try_from(bytes_of(&plans)).unwrap_or(usize::MAX);
    let memory = domain.register(length, access)?;
    let queue_pairs = u32::from(request.queue_pairs);
    let receive_depth = receive_depth(&request);
    let entries = |depth: u32| depth.saturating_mul(queue_pairs);
    let sends = context.completion_queue(entries(request.depth + SPARE_SENDS))?;
    let receives = context.completion_queue(entries(receive_depth))?;
    let options = request.queue_pair_options(receive_depth);
    let pairs = make_pairs(&request, &domain, &sends, &receives, options)?;
    let endpoint = |pair: &QueuePair<Initialised>| {
        pair.endpoint(&from, mtu, limits.reads_answered, memory.remote())
    };
    let own = Offer {
        endpoints: pairs.iter().map(endpoint).collect(),
        longest: plans.iter().map(|plan| plan.size).max().unwrap_or(0),
    };
    Ok(OpenEngine {
        parts: Parts {
            request,
            plans,
            context,
            memory,
            sends,
            receives,
            yields: surroundings.yields,
        },
        cap,
        from,
        reads: limits.reads_begun,
        own,
        pairs,
    })
}

/// To what the device can do; a device that tells nothing is asked as it is.
fn limit_depth(request: &mut OpenRequest, limits: DeviceLimits) {
    let queue_pairs = u32::from(request.queue_pairs);
    // Receives that are posted ahead are twice as many.
    let fits = |depth: u32| {
        let entries = (2 * depth + SPARE_SENDS).saturating_mul(queue_pairs);
        let deep = limits.queue_depth == 0 || 2 * depth + SPARE_SENDS <= limits.queue_depth;
        deep && (limits.completion_entries == 0 || entries <= limits.completion_entries)
    };
    while request.depth > 1 && !fits(request.depth) {
        request.depth /= 2;
    }
}

fn receive_depth(request: &OpenRequest) -> u32 {
    match request.test {
        Test::Bandwidth { .. } => receives_ahead(request.test, request.role, request.depth).max(1),
        Test::Latency { .. } => latency::RECEIVE_DEPTH,
        Test::Verify { .. } => request.depth + verify::SPARE_RECEIVES,
    }
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
    options: QueuePairOptions,
) -> Result<Vec<QueuePair<Initialised>>, CreateError> {
    let make = |options: QueuePairOptions| {
        (0..request.queue_pairs)
            .map(|_| domain.queue_pair(request.port, sends, receives, options))
            .collect::<Result<Vec<_>, _>>()
    };
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
    /// For the peer.
    pub fn offer(&self) -> &Offer {
        &self.own
    }

    /// Whether buffers are smaller than what was asked for.
    pub fn memory_cap(&self) -> Option<MemoryCap> {
        self.cap
    }

    /// Connects each queue pair with the peer's of the same place.
    pub fn join(self, peer: &Offer) -> Result<JoinedEngine, JoinError> {
        let Self {
            mut parts,
            cap: _,
            from,
            reads,
            own,
            pairs,
        } = self;
        let count = pairs.len();
        if peer.endpoints.len() != count {
            return Err(JoinError::Count {
                ours: count,
                theirs: peer.endpoints.len(),
            });
        }
        parts.plans = SizePlan::all(&parts.request, own.longest.min(peer.longest.max(1)))?;
        let needed = bytes_of(&parts.plans);
        let path = parts.request.path(reads);
        let mut connections = Vec::with_capacity(count);
        let both = own.endpoints.iter().zip(&peer.endpoints);
        for (index, (pair, (own, peer))) in pairs.into_iter().zip(both).enumerate() {
            if peer.memory.length < needed {
                let theirs = peer.memory.length;
                return Err(JoinError::Memory { needed, theirs });
            }
            let connected = pair
                .ready_to_receive(&from, own, peer, path)
                .and_then(|pair| pair.ready_to_send(peer, path));
            let pair = connected.map_err(|source| JoinError::Connect {
                index,
                count,
                source,
            })?;
            connections.push(Connection::new(&parts, pair, peer.memory, index)?);
        }
        let work = match parts.request.test {
            Test::Bandwidth { .. } => Work::Bandwidth(Receiver::new(&parts, &mut connections)?),
            Test::Latency { message } => {
                Work::Latency(LatencyWork::new(&parts, &mut connections, message)?)
            }
            Test::Verify { transfer } => {
                Work::Verify(transfer, VerifyWork::new(&parts, &mut connections)?)
            }
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
    /// The responder of a bandwidth test has nothing to do unless messages are sent, and is told by `stop` that it is over.
    /// `emit` is called ten times a second. After an error nothing is under way any more, and the engine is of no use.
    pub fn go(
        &mut self,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(Progress),
    ) -> Result<Figures, GoError> {
        let figures = self.run(stop, emit);
        if figures.is_err() {
            failure::flush(&self.parts, &mut self.connections);
        }
        figures
    }

    fn run(
        &mut self,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(Progress),
    ) -> Result<Figures, GoError> {
        let Self {
            parts,
            connections,
            work,
        } = self;
        let responds = parts.request.role == Role::Responder;
        match work {
            Work::Bandwidth(receiver) if responds => {
                bandwidth::respond(parts, connections, receiver, stop)
            }
            Work::Bandwidth(receiver) => {
                bandwidth::initiate(parts, connections, receiver, stop, emit)
            }
            Work::Latency(work) if responds => latency::respond(parts, connections, work, stop),
            Work::Latency(work) => latency::initiate(parts, connections, work, stop, emit),
            Work::Verify(transfer, work) if responds => {
                verify::respond(parts, connections, work, *transfer, stop)
            }
            Work::Verify(transfer, work) => {
                verify::initiate(parts, connections, work, *transfer, stop, emit)
            }
        }
    }
}

impl Connection {
    /// With messages of the first size.
    fn new(
        parts: &Parts,
        pair: QueuePair<ReadyToSend>,
        peer: RemoteMemory,
        index: usize,
    ) -> Result<Self, PrepareError> {
        // A request has at least one size.
        let plan = &parts.plans[0];
        let inline = parts.request.is_inline(plan.size, pair.inline_bytes());
        Ok(Self {
            ring: Ring::new(parts, plan, index, inline, peer)?,
            pair,
            peer,
            posted: 0,
            completed: 0,
        })
    }

    /// Messages of another size from now on; none may be under way.
    pub(crate) fn prepare(
        &mut self,
        parts: &Parts,
        plan: &SizePlan,
        index: usize,
    ) -> Result<(), PrepareError> {
        let inline = parts.request.is_inline(plan.size, self.pair.inline_bytes());
        self.ring = Ring::new(parts, plan, index, inline, self.peer)?;
        (self.posted, self.completed) = (0, 0);
        Ok(())
    }
}

#[inline]
pub(crate) fn yield_if(yields: bool) {
    if yields {
        rustix::thread::sched_yield();
    }
}

impl Parts {
    /// Polls without a completion until anything else is looked at: many more than a round trip takes, so that it delays
    /// none. One that lets others run in between takes long.
    pub(crate) fn polls_per_clock_read(&self) -> u32 {
        if self.yields { 64 } else { 4096 }
    }

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
