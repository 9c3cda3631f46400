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
mod running_calls;
mod serve;
mod table;
#[cfg(test)]
mod tests;
mod writer;

pub use call::{Call, NoError};
pub use calls::{
    cabling::{CablingCall, StopListeningCall},
    change::ChangeCall,
    collect::{CollectCall, CollectError, CollectReply},
    comparison_tool::{ComparisonToolCall, ComparisonToolError},
    counters::CountersCall,
    hello::{AgentIdentity, HelloCall},
    home_lease::{HomeLeaseCall, HomeLeaseRequest},
    job::{JobCall, JobLogCall},
    reachability::ReachabilityCall,
    test::{
        TestCallNames, TestCloseCall, TestJoinCall, TestJoinRequest, TestOpenCall, TestOpenReply,
        TestRunCall,
    },
    trust::{TrustCall, TrustCallError},
};
pub use client::{CallError, call, call_while_wanted, call_with_stream};
pub use context::{CallContext, CallStopped};
pub use engines::{
    EngineMessage, OpenedTestEnd, RdmaEndPlacement, RdmaTestEngine, TcpTestEngine, TestEngine,
    TestEngineError, TestEngineName, WorkerOptions, serve_engine,
};
pub use in_process::{InProcessSession, open};
pub use node_calls::NodeCalls;
pub use process::{AgentError, serve_process};
pub use resources::{SessionResourceId, SessionResources};
pub use serve::{SILENCE_TIMEOUT, ServeError, ServeOptions, serve};
pub use table::{CALL_TABLE, CallTableRow};
