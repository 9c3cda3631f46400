//! Everything that exists, behind one lock. Objects are known by their address.

use std::{
    collections::{HashMap, VecDeque},
    io::Read,
    os::unix::net::UnixStream,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crosstie_verbs_abi as abi;

use crate::{
    faults::StandInFaults,
    model::StandInDevice,
    object::{EAGAIN, EINVAL, set_errno},
};

/// Two ends of one stream: a byte for each event is in it.
pub(crate) type EventPipe = Arc<(UnixStream, UnixStream)>;

#[derive(Default)]
pub(crate) struct StandInState {
    pub(crate) faults: StandInFaults,
    pub(crate) contexts: HashMap<usize, StandInContext>,
    /// A domain's context.
    pub(crate) domains: HashMap<usize, usize>,
    /// By key, which is both the local and the remote one.
    pub(crate) regions: HashMap<u32, StandInRegion>,
    /// A channel's context, and its two ends.
    pub(crate) channels: HashMap<usize, StandInChannel>,
    pub(crate) queues: HashMap<usize, StandInQueue>,
    pub(crate) pairs: HashMap<usize, StandInQueuePair>,
    pub(crate) lists: usize,
    next_number: u32,
}

pub(crate) struct StandInContext {
    pub(crate) model: &'static StandInDevice,
    pub(crate) events: VecDeque<abi::AsyncEvent>,
    pub(crate) wake: EventPipe,
}

// What an event points to is only handed back.
// SAFETY: the pointers are never followed here.
unsafe impl Send for StandInContext {}

pub(crate) struct StandInRegion {
    pub(crate) domain: usize,
    pub(crate) object: usize,
    pub(crate) address: u64,
    pub(crate) length: u64,
    pub(crate) access: u32,
}

pub(crate) struct StandInChannel {
    pub(crate) context: usize,
    pub(crate) wake: EventPipe,
    /// Queues that have an event in it.
    pub(crate) events: VecDeque<usize>,
}

pub(crate) struct StandInQueue {
    pub(crate) context: usize,
    pub(crate) channel: usize,
    pub(crate) capacity: usize,
    pub(crate) armed: bool,
    pub(crate) unacknowledged: u32,
    pub(crate) entries: VecDeque<StandInCompletion>,
}

pub(crate) struct StandInCompletion {
    pub(crate) completion: abi::WorkCompletion,
    /// Whose send queue it frees so many places of.
    pub(crate) frees: Option<(usize, u32)>,
}

pub(crate) struct StandInQueuePair {
    pub(crate) context: usize,
    pub(crate) domain: usize,
    pub(crate) send_queue: usize,
    pub(crate) receive_queue: usize,
    pub(crate) number: u32,
    pub(crate) capabilities: abi::QueueCapabilities,
    pub(crate) attributes: abi::QueuePairAttributes,
    /// Places of the send queue that are taken, and of those, by requests that made no completion yet.
    pub(crate) outstanding: u32,
    pub(crate) unsignalled: u32,
    pub(crate) receives: VecDeque<abi::ReceiveRequest>,
    /// Where each receive puts its bytes.
    pub(crate) receive_elements: VecDeque<Option<abi::ScatterElement>>,
    pub(crate) unacknowledged: u32,
    /// Requests that wait, in their order, until the peer has a receive for the first of them.
    pub(crate) stalled: VecDeque<StalledSend>,
}

pub(crate) struct StalledSend {
    pub(crate) request: abi::SendRequest,
    pub(crate) element: Option<abi::ScatterElement>,
    pub(crate) since: Instant,
}

// SAFETY: pointers in its requests are not followed after they were posted.
unsafe impl Send for StandInQueuePair {}

static WORLD: LazyLock<Mutex<StandInState>> = LazyLock::new(|| {
    let mut world = StandInState::default();
    if let Ok(text) = std::env::var("STAND_IN_FAULTS") {
        world.faults.add(&text);
    }
    Mutex::new(world)
});

pub(crate) fn lock() -> MutexGuard<'static, StandInState> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StandInState {
    /// A number that nothing else has: of a queue pair, or a region's key.
    pub(crate) fn number(&mut self) -> u32 {
        self.next_number += 1;
        self.next_number
    }

    pub(crate) fn pair_of_number(&self, number: u32) -> Option<usize> {
        let mut pairs = self.pairs.iter();
        pairs
            .find(|(_, pair)| pair.number == number)
            .map(|(&address, _)| address)
    }

    pub(crate) fn live(&self) -> usize {
        self.contexts.len()
            + self.domains.len()
            + self.regions.len()
            + self.channels.len()
            + self.queues.len()
            + self.pairs.len()
            + self.lists
    }

    /// What a device tells without being asked.
    pub(crate) fn raise(&mut self, context: usize, event: abi::AsyncEvent) {
        if let Some(context) = self.contexts.get_mut(&context) {
            context.events.push_back(event);
            wake(&context.wake);
        }
    }

    pub(crate) fn complete(&mut self, queue_address: usize, entry: StandInCompletion) {
        if self.faults.lasts("never_completes") {
            return;
        }
        let Some(queue) = self.queues.get_mut(&queue_address) else {
            return;
        };
        if queue.entries.len() >= queue.capacity {
            let event = abi::AsyncEvent {
                element: queue_address as *mut _,
                event_type: abi::EVENT_COMPLETION_QUEUE,
            };
            let context = queue.context;
            self.raise(context, event);
            return;
        }
        queue.entries.push_back(entry);
        if std::mem::take(&mut queue.armed)
            && let Some(channel) = self.channels.get_mut(&queue.channel)
        {
            channel.events.push_back(queue_address);
            wake(&channel.wake);
        }
    }
}

fn wake(pair: &(UnixStream, UnixStream)) {
    // A reader that has so much to read is awake.
    let _ = std::io::Write::write(&mut &pair.1, &[1]);
}

/// Waits for an event and takes it. `None` where `errno` says why there is none.
pub(crate) fn next_event<T>(
    function: &'static str,
    wake: impl FnOnce(&StandInState) -> Option<&EventPipe>,
    take: impl FnOnce(&mut StandInState) -> Option<T>,
) -> Option<(T, MutexGuard<'static, StandInState>)> {
    let failed = |error: i32| {
        set_errno(error);
        None
    };
    let mut world = lock();
    if let Some(error) = world.faults.take(function) {
        return failed(error);
    }
    let Some(wake) = wake(&world).map(Arc::clone) else {
        return failed(EINVAL);
    };
    // Without the lock: it may block.
    drop(world);
    if let Err(error) = (&wake.0).read_exact(&mut [0]) {
        return failed(error.raw_os_error().unwrap_or(EINVAL));
    }
    let mut world = lock();
    match take(&mut world) {
        Some(event) => Some((event, world)),
        // What it was of is gone.
        None => failed(EAGAIN),
    }
}
