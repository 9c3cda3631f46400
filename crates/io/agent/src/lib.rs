//! Typed calls to a node, and the agent that answers them.
//!
//! A call is a type: what is asked, what is told meanwhile, what is answered. It is one file in `calls/` and one line of
//! [`TABLE`]. `crosstie-reach` carries it as bytes.

mod call;
mod calls;
mod client;
mod context;
mod engines;
mod in_process;
mod node_calls;
mod output;
mod process;
mod resources;
mod running;
mod serve;
mod table;
#[cfg(test)]
mod tests;
mod writer;

pub use call::{Call, NoError};
pub use calls::{
    cabling::{Cabling, CablingEnd},
    change::Change,
    collect::{Collect, CollectError, Collected},
    counters::Counters,
    hello::{Hello, Identity},
    job::{Job, JobLog},
    peer_tool::{PeerToolError, PeerToolRun},
    reach::Reach,
    test::{JoinRequest, Opened, TestCalls, TestClose, TestGo, TestJoin, TestOpen},
    trust::{Refusal, Trust},
    trust_lease::{LeaseAsk, TrustLease},
};
pub use client::{CallError, call, call_while_wanted, call_with_stream};
pub use context::{Context, Stopped};
pub use engines::{
    Conditions, EngineError, EngineName, EngineOptions, Message, OpenEnd, Rdma, Tcp, TestEngine,
    serve_engine,
};
pub use in_process::{InProcess, open};
pub use node_calls::NodeCalls;
pub use process::{AgentError, serve_process};
pub use resources::{ResourceId, Resources};
pub use serve::{SILENCE_TIMEOUT, ServeError, ServeOptions, serve};
pub use table::{Row, TABLE};
