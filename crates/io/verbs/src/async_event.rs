//! What a device tells without being asked: a port went down, a queue pair died.

use std::{ptr::NonNull, time::Instant};

use crosstie_verbs_abi::{self as abi, ZeroableType};

use crate::{
    call::{failed, field},
    completion::readable,
    context::DeviceContext,
    error::VerbsCallError,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsyncEvent {
    pub kind: AsyncEventKind,
    pub source: AsyncEventSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsyncEventSource {
    /// By its number.
    QueuePair(u32),
    CompletionQueue,
    Port(u32),
    Device,
}

macro_rules! kinds {
    ($($kind:ident = $code:ident, $source:ident, $words:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum AsyncEventKind {
            $($kind,)*
            Unknown(u32),
        }

        impl AsyncEventKind {
            fn of(code: u32) -> (Self, Element) {
                match code {
                    $(abi::$code => (Self::$kind, Element::$source),)*
                    code => (Self::Unknown(code), Element::Unknown),
                }
            }
        }

        impl std::fmt::Display for AsyncEventKind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$kind => f.write_str($words),)*
                    Self::Unknown(code) => write!(f, "event {code}, for which this build has no words"),
                }
            }
        }
    };
}

/// What an event's first field holds.
enum Element {
    QueuePair,
    CompletionQueue,
    Port,
    Device,
    Unknown,
}

kinds! {
    CompletionQueueOverrun = EVENT_COMPLETION_QUEUE, CompletionQueue, "a completion queue overran";
    QueuePairFatal = EVENT_QUEUE_PAIR_FATAL, QueuePair, "a queue pair failed for good";
    QueuePairRequest = EVENT_QUEUE_PAIR_REQUEST, QueuePair, "a queue pair got an invalid request";
    QueuePairAccess = EVENT_QUEUE_PAIR_ACCESS, QueuePair, "a queue pair got a request for memory that it may not use";
    Connected = EVENT_CONNECTED, QueuePair, "a queue pair got its first packet";
    Drained = EVENT_DRAINED, QueuePair, "a queue pair's send queue is drained";
    PathMigrated = EVENT_PATH_MIGRATED, QueuePair, "a queue pair changed to its other path";
    PathMigrationFailed = EVENT_PATH_MIGRATION, QueuePair, "a queue pair could not change to its other path";
    DeviceFatal = EVENT_DEVICE_FATAL, Device, "the device failed for good: see `dmesg`";
    PortActive = EVENT_PORT_ACTIVE, Port, "a port became active";
    PortDown = EVENT_PORT_DOWN, Port, "a port went down";
    LidChange = EVENT_LID_CHANGE, Port, "a port's LID changed";
    PartitionChange = EVENT_PARTITION_CHANGE, Port, "a port's partitions changed";
    SubnetManagerChange = EVENT_SUBNET_MANAGER_CHANGE, Port, "a port's subnet manager changed";
    LastRequest = EVENT_LAST_REQUEST, QueuePair, "a queue pair has used its last shared receive";
    GidChange = EVENT_GID_CHANGE, Port, "a port's GID table changed";
}

impl DeviceContext {
    /// The next event, or `None` at the deadline.
    pub fn async_event(&self, deadline: Instant) -> Result<Option<AsyncEvent>, VerbsCallError> {
        let context = &self.0;
        loop {
            let mut event = abi::AsyncEvent::ZEROED;
            let get = context.functions().ibv_get_async_event;
            // SAFETY: an open context, and room for an event.
            let code = unsafe { get(context.raw.as_ptr(), &raw mut event) };
            if code == 0 {
                let known = describe(&event);
                // SAFETY: acknowledged once. Until then nothing that it names is destroyed: that waits for this.
                unsafe { (context.functions().ibv_ack_async_event)(&raw mut event) };
                return Ok(Some(known));
            }
            let error = std::io::Error::last_os_error();
            if error.kind() != std::io::ErrorKind::WouldBlock {
                return Err(failed(&context.name, "ibv_get_async_event")(error));
            }
            let ready = readable(context.async_fd(), deadline)
                .map_err(failed(&context.name, "poll for asynchronous events"))?;
            if !ready {
                return Ok(None);
            }
        }
    }
}

fn describe(event: &abi::AsyncEvent) -> AsyncEvent {
    let (kind, element) = AsyncEventKind::of(event.event_type);
    let source = match element {
        Element::QueuePair => NonNull::new(event.element).map_or(AsyncEventSource::Device, |raw| {
            // SAFETY: the event names one of this context's queue pairs, whose destruction waits until the event is
            // acknowledged; its number does not change.
            AsyncEventSource::QueuePair(unsafe { field(raw, abi::queue_pair::NUMBER) })
        }),
        Element::CompletionQueue => AsyncEventSource::CompletionQueue,
        // A number in the pointer's place, in its first four bytes.
        Element::Port => {
            let bytes = event.element.addr().to_ne_bytes();
            let number = u32::from_ne_bytes(std::array::from_fn(|index| bytes[index]));
            AsyncEventSource::Port(number)
        }
        Element::Device | Element::Unknown => AsyncEventSource::Device,
    };
    AsyncEvent { kind, source }
}
