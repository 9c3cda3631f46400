//! Who is there.

use serde::{Deserialize, Serialize};

use crate::{Call, CallContext, NoError};

pub struct HelloCall;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentIdentity {
    /// The kernel's name for the architecture.
    pub machine: String,
    pub user: u32,
    pub process: u32,
}

impl Call for HelloCall {
    const NAME: &'static str = "hello";
    type Request = ();
    type Event = ();
    type Answer = AgentIdentity;
    type Error = NoError;

    fn run((): (), _: &CallContext<'_, ()>) -> Result<AgentIdentity, NoError> {
        let system = rustix::system::uname();
        Ok(AgentIdentity {
            machine: system.machine().to_string_lossy().into_owned(),
            user: rustix::process::geteuid().as_raw(),
            process: std::process::id(),
        })
    }
}
