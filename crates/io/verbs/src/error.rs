//! What can go wrong: one enumeration an operation.

use std::{io, net::IpAddr, path::PathBuf, time::Duration};

use crosstie_model::{Bytes, Gid, distribution::DEBIAN};
use rustix::io::Errno;

use crate::status::CompletionStatus;

#[derive(Debug, thiserror::Error)]
pub enum VerbsLibraryError {
    #[error(
        "{} could not be loaded: install {} and the device's provider ({}: {})",
        library.display(),
        DEBIAN.packages.rdma_library,
        DEBIAN.name,
        DEBIAN.packages.rdma_providers
    )]
    Missing {
        library: PathBuf,
        source: libloading::Error,
    },
    #[error(
        "{} has no function {function}: rdma-core 39 or newer is needed",
        library.display()
    )]
    Function {
        library: PathBuf,
        function: &'static str,
        source: libloading::Error,
    },
}

/// A function of libibverbs' that failed for a reason that has no name of its own.
#[derive(Debug, thiserror::Error)]
#[error("{device}: {call} failed")]
pub struct VerbsCallError {
    pub device: String,
    pub call: &'static str,
    pub source: io::Error,
}

#[derive(Debug, thiserror::Error)]
pub enum DeviceListError {
    #[error("the kernel has no RDMA support: load the device's driver and ib_uverbs")]
    NoRdma(#[source] io::Error),
    #[error(
        "the kernel has {}, but libibverbs lists no device: its providers do not fit it, as when DOCA-OFED's and the \
         distribution's packages are mixed; install both from one source{}",
        devices.join(", "),
        said_by_library(library_output)
    )]
    NoProvider {
        devices: Vec<String>,
        /// What libibverbs wrote to standard error meanwhile.
        library_output: String,
    },
    #[error("libibverbs could not list the devices")]
    Call(#[source] io::Error),
}

fn said_by_library(library_output: &str) -> String {
    match library_output.trim() {
        "" => String::new(),
        said => format!("; it said: {said}"),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenDeviceError {
    #[error("there is no RDMA device {name}; libibverbs lists {}", list(present))]
    Absent { name: String, present: Vec<String> },
    #[error(
        "{device} may not be opened: run as root, or let this user write to /dev/infiniband/uverbs*"
    )]
    Denied { device: String, source: io::Error },
    #[error(transparent)]
    Call(VerbsCallError),
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RegisterMemoryError {
    #[error("no memory for a buffer of {0}")]
    Buffer(Bytes),
    #[error(
        "{device}: {bytes} could not be registered: raise the limit on locked memory (`ulimit -l unlimited`, or \
         LimitMEMLOCK= of the service), or measure with smaller buffers"
    )]
    LockedMemory {
        device: String,
        bytes: Bytes,
        source: io::Error,
    },
    #[error("{device}: registering memory is not supported by its driver; see `dmesg`")]
    Unsupported { device: String, source: io::Error },
    #[error(transparent)]
    Call(VerbsCallError),
}

/// A protection domain, completion queue, completion channel or queue pair could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error(
        "{device}: no resources for {what}: end other RDMA programs, or ask for fewer or shallower queues"
    )]
    Exhausted {
        device: String,
        what: &'static str,
        source: io::Error,
    },
    #[error(
        "{device}: {what} as asked for exceeds what the device can do: ask for shallower queues or less inline data"
    )]
    BeyondLimits {
        device: String,
        what: &'static str,
        source: io::Error,
    },
    #[error("{device}: {what} is not supported by its driver")]
    Unsupported {
        device: String,
        what: &'static str,
        source: io::Error,
    },
    #[error(transparent)]
    Call(VerbsCallError),
}

/// How a port is addressed could not be found out.
#[derive(Debug, thiserror::Error)]
pub enum PortAddressError {
    #[error(
        "{device} port {port}: the subnet manager has given it no LID: is one running (`sminfo`)?"
    )]
    NoLid { device: String, port: u8 },
    #[error("{device} port {port} is RoCE, which needs an IP address to choose its GID by")]
    AddressNeeded { device: String, port: u8 },
    #[error(
        "{device} port {port} has no RoCE v2 GID of {address}: is the address on its interface, and the link up?{}",
        only_version_1(*version_1)
    )]
    NoGid {
        device: String,
        port: u8,
        address: IpAddr,
        /// The address is there, but as RoCE v1.
        version_1: bool,
    },
    #[error("{device} port {port}: the link layer is neither InfiniBand nor Ethernet")]
    LinkLayer { device: String, port: u8 },
    #[error(transparent)]
    Call(#[from] VerbsCallError),
}

fn only_version_1(found: bool) -> &'static str {
    if found {
        " It has one of RoCE v1, which is not routed and not used"
    } else {
        ""
    }
}

/// What a peer sent is no endpoint.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error("a queue pair's number has 24 bits, not {0:#x}")]
    QueuePair(u32),
    #[error("a packet sequence number has 24 bits, not {0:#x}")]
    PacketSequence(u32),
    #[error("{0} is no path MTU: 256, 512, 1024, 2048 or 4096")]
    PathMtu(u32),
    #[error("{0} is no LID of a port")]
    Lid(u16),
    #[error("{0} is no GID of a port")]
    Gid(Gid),
}

#[derive(Debug, thiserror::Error)]
pub enum QueuePairConnectError {
    #[error("the peer's endpoint cannot be used")]
    Endpoint(#[from] EndpointError),
    #[error(
        "{device} and its peer are not on the same kind of link: one is InfiniBand, the other RoCE"
    )]
    LinkLayers { device: String },
    #[error("{what} is {value}: it must be {allowed}")]
    Option {
        what: &'static str,
        value: u32,
        allowed: &'static str,
    },
    #[error(
        "{device}: the peer {peer} cannot be reached: its hardware address could not be resolved; look at `ip neigh`, and \
         whether it answers to ping on this interface"
    )]
    Unreachable {
        device: String,
        peer: String,
        source: io::Error,
    },
    #[error(
        "{device} refused to {step} towards {peer}: is the GID still in its table, and the port active?"
    )]
    Refused {
        device: String,
        step: &'static str,
        peer: String,
        source: io::Error,
    },
    #[error(transparent)]
    Call(VerbsCallError),
}

/// A piece of memory that is not within its region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{length} bytes at {offset} are not within a region of {region} bytes")]
pub struct OutOfRange {
    pub offset: u64,
    pub length: u64,
    pub region: u64,
}

/// A list of work requests that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum WorkListError {
    #[error("a list of work requests may not be empty")]
    Empty,
    #[error("work request {0}: what is read from a peer cannot be inline")]
    InlineRead(usize),
    #[error("work request {index}")]
    OutOfRange { index: usize, source: OutOfRange },
}

#[derive(Debug, thiserror::Error)]
pub enum PostError {
    #[error(
        "{device}: the queue is full after {posted} of the list's work requests: poll completions first"
    )]
    QueueFull {
        device: String,
        posted: usize,
        source: io::Error,
    },
    #[error(
        "{device}: work request {posted} of the list was refused: is it inline and too long, or the queue pair in error?"
    )]
    Refused {
        device: String,
        posted: usize,
        source: io::Error,
    },
    #[error(transparent)]
    Call(VerbsCallError),
}

/// A work request that was posted and has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "work request {identifier} of queue pair {queue_pair}: {status} (vendor's code {vendor:#x})"
)]
pub struct CompletionError {
    pub identifier: u64,
    pub queue_pair: u32,
    pub status: CompletionStatus,
    pub vendor: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum CompletionWaitError {
    #[error(
        "{device}: nothing completed within {waited:?}: is the peer still there, and its port active?"
    )]
    DeadlinePassed { device: String, waited: Duration },
    #[error("{device}: the completion queue was made without a channel, so it can only be polled")]
    NoChannel { device: String },
    #[error(transparent)]
    Call(#[from] VerbsCallError),
}

impl CreateError {
    /// The error that a failed call stands for.
    pub(crate) fn of(
        device: &str,
        what: &'static str,
        call: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let device = device.to_owned();
        move |source| match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOMEM | Errno::NOSPC | Errno::AGAIN | Errno::MFILE) => Self::Exhausted {
                device,
                what,
                source,
            },
            Some(Errno::INVAL) => Self::BeyondLimits {
                device,
                what,
                source,
            },
            Some(Errno::NOSYS | Errno::OPNOTSUPP) => Self::Unsupported {
                device,
                what,
                source,
            },
            _ => Self::Call(VerbsCallError {
                device,
                call,
                source,
            }),
        }
    }
}
