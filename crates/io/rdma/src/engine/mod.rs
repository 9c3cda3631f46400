//! Opening, joining and going.

mod join;
mod open;

use std::{sync::atomic::AtomicBool, time::Instant};

use crosstie_fabric::placement::MemoryBudget;
use crosstie_figures::TestProgress;
use crosstie_verbs::{
    AsyncEventKind as Kind, CompletionQueue, DeviceContext, Initialised, MemoryRegion, PortAddress,
    QueuePair, QueuePairEndpoint, ReadyToSend, RemoteMemory,
};
use serde::{Deserialize, Serialize};

use crate::{
    bandwidth,
    error::{PrepareMessagesError, RdmaRunError},
    failure,
    figures::RdmaFigures,
    latency::{self, LatencyWork},
    message_ring::MessageRing,
    receiver::ReceiveQueues,
    request::{BandwidthOperation, RdmaOpenRequest, RdmaRole},
    size_plan::{MemoryCap, SizePlan},
    verify::{self, VerifyWork},
};

pub use open::open;

/// What the machine lets an engine have.
#[derive(Debug, Clone, Copy, Default)]
pub struct EngineResources {
    pub memory: Option<MemoryBudget>,
    /// Processors are short: whoever waits lets others run.
    pub yields: bool,
}

/// What the peer has to be told to join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RdmaEndpoints {
    pub endpoints: Vec<QueuePairEndpoint>,
    /// Bytes of the longest message that there is memory for; the lesser of both ends' counts.
    pub longest: u32,
}

/// Queue pairs that do not know their peers yet.
#[derive(Debug)]
pub struct OpenRdmaEngine {
    parts: EngineParts,
    cap: Option<MemoryCap>,
    from: PortAddress,
    reads: u8,
    own: RdmaEndpoints,
    pairs: Vec<QueuePair<Initialised>>,
}

/// Queue pairs that may send.
#[derive(Debug)]
pub struct JoinedRdmaEngine {
    parts: EngineParts,
    connections: Vec<RdmaConnection>,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Bandwidth(Option<ReceiveQueues>),
    Latency(LatencyWork),
    Verify(BandwidthOperation, VerifyWork),
}

#[derive(Debug)]
pub(crate) struct EngineParts {
    pub(crate) request: RdmaOpenRequest,
    pub(crate) plans: Vec<SizePlan>,
    pub(crate) context: DeviceContext,
    pub(crate) memory: MemoryRegion,
    pub(crate) sends: CompletionQueue,
    pub(crate) receives: CompletionQueue,
    /// Of each queue pair, in a bandwidth test.
    pub(crate) receives_ahead: u32,
    pub(crate) yields: bool,
}

/// A queue pair and what is under way on it.
#[derive(Debug)]
pub(crate) struct RdmaConnection {
    pub(crate) pair: QueuePair<ReadyToSend>,
    pub(crate) peer: RemoteMemory,
    pub(crate) ring: MessageRing,
    pub(crate) posted: u64,
    pub(crate) completed: u64,
}

impl JoinedRdmaEngine {
    /// Measures until its time is over or `stop` is set; figures of what was measured until then are then not complete.
    /// The responder of a bandwidth test has nothing to do unless messages are sent, and is told by `stop` that it is over.
    /// `emit` is called ten times a second. After an error nothing is under way any more, and the engine is of no use.
    pub fn go(
        &mut self,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(TestProgress),
    ) -> Result<RdmaFigures, RdmaRunError> {
        self.run(stop, emit).map_err(|error| {
            let cause = failure::cause_of(&self.parts, error);
            failure::flush(&self.parts, &mut self.connections);
            cause
        })
    }

    fn run(
        &mut self,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(TestProgress),
    ) -> Result<RdmaFigures, RdmaRunError> {
        let Self {
            parts,
            connections,
            work,
        } = self;
        let responds = parts.request.role == RdmaRole::Responder;
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

impl RdmaConnection {
    /// With messages of the first size.
    fn new(
        parts: &EngineParts,
        pair: QueuePair<ReadyToSend>,
        peer: RemoteMemory,
        index: usize,
    ) -> Result<Self, PrepareMessagesError> {
        // A request has at least one size.
        let plan = &parts.plans[0];
        let inline = parts.request.is_inline(plan.size, pair.inline_bytes());
        Ok(Self {
            ring: MessageRing::new(parts, plan, index, inline, peer)?,
            pair,
            peer,
            posted: 0,
            completed: 0,
        })
    }

    /// Messages of another size from now on; none may be under way.
    pub(crate) fn prepare(
        &mut self,
        parts: &EngineParts,
        plan: &SizePlan,
        index: usize,
    ) -> Result<(), PrepareMessagesError> {
        let inline = parts.request.is_inline(plan.size, self.pair.inline_bytes());
        self.ring = MessageRing::new(parts, plan, index, inline, self.peer)?;
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

impl EngineParts {
    /// Polls without a completion until anything else is looked at: many more than a round trip takes, so that it delays
    /// none. One that lets others run in between takes long.
    pub(crate) fn polls_per_clock_read(&self) -> u32 {
        if self.yields { 64 } else { 4096 }
    }

    /// An error if the device has told of something that ends a test.
    pub(crate) fn check_events(&self, deadline: Instant) -> Result<(), RdmaRunError> {
        while let Some(event) = self.context.async_event(deadline)? {
            let harmless = [
                Kind::Connected,
                Kind::PortActive,
                Kind::Drained,
                Kind::GidChange,
            ];
            if !harmless.contains(&event.kind) {
                return Err(RdmaRunError::Event(event.kind));
            }
        }
        Ok(())
    }
}
