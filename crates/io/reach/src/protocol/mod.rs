//! What agent and controller say to each other, as values: no pipes, no clocks.
//!
//! The agent's standard output starts with whatever the login says, then a [`PreambleLine`] behind [`MAGIC`], then frames:
//!
//! ```text
//! u32 length (big endian, of what follows)   u8 kind   payload
//! ```
//!
//! Both ends are the same build, so nothing here carries a version.

mod exchange;
mod frame;
mod message;
mod preamble;

pub use exchange::{
    CallExchange, ExchangeEvent, MAX_CALLS, MAX_EVENT, ProtocolError, STREAM_WINDOW,
};
pub use frame::{
    AgentFrame, AgentFrameKind, AgentFrameReader, FrameError, MAX_FRAME, encode, encode_bytes,
    encode_message,
};
pub use message::{CallFailure, FromAgent, ToAgent};
pub use preamble::{MAGIC, MAX_NOISE, PreambleError, PreambleLine, PreambleReader};
