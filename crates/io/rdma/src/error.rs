//! What can go wrong, step by step.

use std::time::Duration;

use crosstie_fabric::placement::MemoryLimit;
use crosstie_model::Bytes;
use crosstie_verbs::{
    AsyncEventKind, CompletionError, CreateError, DeviceListError, EndpointError, OpenDeviceError,
    OutOfRange, PortAddressError, PostError, QueuePairConnectError, RegisterMemoryError,
    VerbsCallError, VerbsLibraryError, VerbsPortState, WorkListError,
};

/// A request that no engine can satisfy.
#[derive(Debug, thiserror::Error)]
pub enum RdmaRequestError {
    #[error("{what} is {value}: it must be a power of two, and at most the depth ({depth})")]
    NoPower {
        what: &'static str,
        value: u32,
        depth: u32,
    },
    #[error("{what} must be more than 0")]
    Zero { what: &'static str },
    #[error(
        "latency is measured with one queue pair, one message at a time and one size, not with {queue_pairs}, {list} and {sizes}"
    )]
    Latency {
        queue_pairs: u16,
        list: u32,
        sizes: usize,
    },
    #[error("both ends can send in a bandwidth test alone")]
    OneInitiator,
    #[error("RoCE needs the MTU of the port's interface, and of at least 352")]
    InterfaceMtu,
    #[error("port {0} has no MTU: is its subnet manager running?")]
    PortMtu(u8),
    #[error(
        "{queue_pairs} queue pairs with messages of {size} bytes need more memory than there can be"
    )]
    TooLarge { queue_pairs: u16, size: u32 },
    #[error(
        "{queue_pairs} queue pairs need more than {bytes}, which is {limit}, divided among the tests of this node"
    )]
    NoMemory {
        queue_pairs: u16,
        bytes: Bytes,
        limit: MemoryLimit,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum RdmaOpenError {
    #[error("the test cannot be run as asked for")]
    Request(#[from] RdmaRequestError),
    #[error("RDMA is not available")]
    Library(#[from] VerbsLibraryError),
    #[error("RDMA devices cannot be listed")]
    Devices(#[from] DeviceListError),
    #[error("the device cannot be used")]
    Device(#[from] OpenDeviceError),
    #[error(
        "{device} port {port} is {state}: is the cable in, the peer's end up, and on InfiniBand a subnet manager running?"
    )]
    PortState {
        device: String,
        port: u8,
        state: VerbsPortState,
    },
    #[error("the port has no address")]
    Address(#[from] PortAddressError),
    #[error("the path MTU is unusable")]
    Mtu(#[from] EndpointError),
    #[error("no memory for messages")]
    Memory(#[from] RegisterMemoryError),
    #[error("no queues")]
    Queues(#[from] CreateError),
    #[error("the device does not answer")]
    Call(#[from] VerbsCallError),
}

#[derive(Debug, thiserror::Error)]
pub enum RdmaJoinError {
    #[error(
        "the peer has {theirs} queue pairs, and this end {ours}: both must be asked for the same test"
    )]
    Count { ours: usize, theirs: usize },
    #[error(
        "the peer's memory has {theirs} bytes, and the test needs {needed}: both must be asked for the same test"
    )]
    Memory { needed: u64, theirs: u64 },
    #[error("queue pair {index} of {count} cannot be connected")]
    Connect {
        index: usize,
        count: usize,
        source: QueuePairConnectError,
    },
    #[error("the test cannot be run as agreed upon")]
    Request(#[from] RdmaRequestError),
    #[error(transparent)]
    Prepare(#[from] PrepareMessagesError),
    #[error("receives cannot be posted")]
    Post(#[from] PostError),
}

/// Messages that cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub enum PrepareMessagesError {
    #[error("work cannot be prepared")]
    Work(#[from] WorkListError),
    #[error("memory is shorter than asked for")]
    OutOfRange(#[from] OutOfRange),
}

impl From<WorkListError> for RdmaJoinError {
    fn from(error: WorkListError) -> Self {
        Self::Prepare(error.into())
    }
}

impl From<OutOfRange> for RdmaJoinError {
    fn from(error: OutOfRange) -> Self {
        Self::Prepare(error.into())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RdmaRunError {
    #[error(transparent)]
    Prepare(#[from] PrepareMessagesError),
    #[error("work could not be posted")]
    Post(#[from] PostError),
    #[error("work failed")]
    Completion(#[from] CompletionError),
    #[error("completions could not be polled")]
    Call(#[from] VerbsCallError),
    #[error("nothing was heard of the peer for {0:?}: it is gone, or packets are lost on the way")]
    Silent(Duration),
    #[error("the device reports: {0}")]
    Event(AsyncEventKind),
    #[error("message {got} came in place of message {wanted}: the device or its driver lost count")]
    Sequence { wanted: u32, got: u32 },
    #[error("a completion came of queue pair {0}, which this test does not have")]
    UnknownQueuePair(u64),
}
