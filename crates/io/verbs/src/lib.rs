//! RDMA verbs: libibverbs, loaded at run time.
//!
//! [`Library`] → [`Device`] → [`Context`] → [`ProtectionDomain`] → [`MemoryRegion`] and
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
pub use context::{Context, DeviceLimits};
pub use device::Device;
pub use endpoint::{Endpoint, EndpointAddress, RemoteMemory};
pub use error::{
    AddressError, CallError, CompletionError, ConnectError, CreateError, DeviceListError,
    EndpointError, LibraryError, OpenDeviceError, OutOfRange, PostError, RegisterError, WaitError,
    WorkError,
};
pub use gid::{GidEntry, GidType, PortAddress};
pub use kernel_gids::{GidPlace, gid_places};
pub use library::Library;
pub use memory::{Access, MemoryRegion, MemorySpan};
pub use port::{PathMtu, Port, PortState};
pub use protection_domain::ProtectionDomain;
pub use queue_pair::{
    Initialised, PathOptions, QueuePair, QueuePairOptions, ReadyToReceive, ReadyToSend,
};
pub use status::Status;
pub use work::{Operation, PreparedSend, ReceiveList, SendList, SendRequest};
