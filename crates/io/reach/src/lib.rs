//! Sessions: calls to a node, wherever it is, as bytes. What they say is for `crosstie-agent` to know.

mod agent_pipe;
pub mod askpass;
pub mod binary;
mod calls_state;
pub mod connect;
pub mod discover;
mod fan_out;
pub mod fuzz;
pub mod host_key;
mod interrupt;
pub mod protocol;
mod remote_session;
mod route;
pub mod secret;
mod session;
mod session_thread;
pub mod ssh;

pub use agent_pipe::AgentPipeError;
pub use connect::{ConnectError, ConnectOptions, NodeStage};
pub use fan_out::{BOUND, FanOutItemError, fan_out, fan_out_together};
pub use interrupt::{
    EndOnSignal, end_children_on_signals, end_if_interrupted, end_on_signals, run_before_exit,
};
pub use remote_session::RemoteSession;
pub use route::{NodeRoute, open};
pub use session::{CallLimits, Session, SessionError};
