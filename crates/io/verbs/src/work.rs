//! Work requests, prepared once and posted again and again.

mod array;
mod receive;
mod send;

pub use receive::ReceiveList;
pub use send::{PreparedSend, SendList, SendOperation, SendRequest};
