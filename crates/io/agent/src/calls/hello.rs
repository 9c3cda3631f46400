//! Who is there.

use serde::{Deserialize, Serialize};

use crate::{Call, Context, NoError};

pub struct Hello;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The kernel's name for the architecture.
    pub machine: String,
    pub user: u32,
    pub process: u32,
}

impl Call for Hello {
    const NAME: &'static str = "hello";
    type Ask = ();
    type Event = ();
    type Answer = Identity;
    type Error = NoError;

    fn run((): (), _: &Context<'_, ()>) -> Result<Identity, NoError> {
        let system = rustix::system::uname();
        Ok(Identity {
            machine: system.machine().to_string_lossy().into_owned(),
            user: rustix::process::geteuid().as_raw(),
            process: std::process::id(),
        })
    }
}
