//! RDMA verbs: libibverbs, loaded at run time.
//!
//! [`VerbsLibrary`] → [`VerbsDevice`] → [`DeviceContext`] → [`ProtectionDomain`] → [`MemoryRegion`] and
//! [`QueuePair`]`<Initialised>` → `<ReadyToReceive>` → `<ReadyToSend>`. Every value keeps what it rests on alive, so
//! things are destroyed in the order that libibverbs asks for, whatever order they are dropped in. What a peer may
//! write to is memory that a [`MemoryRegion`] owns and that is only ever read by atomic loads.

mod async_event;
mod buffer;
mod call;
mod captured_stderr;
mod completion;
mod context;
mod device;
mod endpoint;
mod error;
mod gid;
mod kernel_gids;
mod library;
mod memory;
mod port;
mod protection_domain;
mod queue_pair;
mod status;
mod work;

pub use async_event::{AsyncEvent, AsyncEventKind, AsyncEventSource};
pub use completion::{Completion, CompletionBatch, CompletionKind, CompletionQueue, all_succeeded};
pub use context::{DeviceContext, DeviceLimits};
pub use device::VerbsDevice;
pub use endpoint::{LidOrGid, QueuePairEndpoint, RemoteMemory};
pub use error::{
    CompletionError, CompletionWaitError, CreateError, DeviceListError, EndpointError,
    OpenDeviceError, OutOfRange, PortAddressError, PostError, QueuePairConnectError,
    RegisterMemoryError, VerbsCallError, VerbsLibraryError, WorkListError,
};
pub use gid::{GidType, PortAddress, VerbsGidEntry};
pub use kernel_gids::{GidTableIndex, gid_places};
pub use library::VerbsLibrary;
pub use memory::{MemoryRegion, MemorySpan, RemoteAccess};
pub use port::{PathMtu, VerbsPort, VerbsPortState};
pub use protection_domain::ProtectionDomain;
pub use queue_pair::{
    Initialised, PathOptions, QueuePair, QueuePairOptions, ReadyToReceive, ReadyToSend,
};
pub use status::CompletionStatus;
pub use work::{PreparedSend, ReceiveList, SendList, SendOperation, SendRequest};
