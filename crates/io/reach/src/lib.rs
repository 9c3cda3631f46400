//! Sessions: typed calls to a node, wherever it is.

pub mod agent;
pub mod askpass;
pub mod binary;
pub mod connect;
mod conversation;
pub mod discover;
mod fan_out;
pub mod fuzz;
pub mod host_key;
mod interrupt;
mod link;
pub mod protocol;
mod remote;
mod route;
pub mod secret;
mod session;
pub mod ssh;

pub use connect::{ConnectError, Stage, Wanted};
pub use fan_out::{BOUND, Unfinished, fan_out};
pub use interrupt::{end_children_on_signals, end_if_interrupted, set_last_words};
pub use link::LinkError;
pub use remote::Remote;
pub use route::{Route, open};
pub use session::{InProcess, Session, SessionError};
