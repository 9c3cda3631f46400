//! Agents in threads of this process.

mod echo;
mod in_flight;
mod many;
mod wire;

use std::{sync::Arc, time::Duration};

use crosstie_reach::RemoteSession;

use crate::{
    in_process::start,
    serve::{AgentSession, ServeOptions},
    table::CallTableRow,
};

const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// A session with both of its ends.
fn session(table: &'static [CallTableRow]) -> (RemoteSession, Arc<AgentSession>) {
    let silence = CALL_TIMEOUT;
    let agent = Arc::new(AgentSession::new(ServeOptions { silence, table }));
    (start(&agent).unwrap(), agent)
}
