//! What has been done of the work that was posted.

mod batch;
mod channel;
mod queue;

pub use batch::{Completion, CompletionBatch, CompletionKind, all_succeeded};
pub(crate) use channel::readable;
pub use queue::CompletionQueue;
pub(crate) use queue::QueueHandle;
