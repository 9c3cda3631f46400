//! Sessions: typed calls to a node, wherever it is.

use std::time::Duration;

use crosstie_facts::Raw;
use thiserror::Error;

/// A node that can be asked. Every call carries a deadline and is answered once.
pub trait Session {
    /// What the person called the node.
    fn name(&self) -> &str;

    /// Everything that facts are parsed from, in one answer.
    fn collect(&mut self, deadline: Duration) -> Result<Raw, SessionError>;
}

#[derive(Debug, Error)]
pub enum SessionError {
    #[error("{node}: no answer within {} s", .deadline.as_secs())]
    Deadline { node: String, deadline: Duration },
    #[error("{node}: collecting stopped half way; this is a bug, please report it")]
    Lost { node: String },
}

/// The machine that this process runs on (`.`).
pub struct InProcess;

impl Session for InProcess {
    fn name(&self) -> &'static str {
        "."
    }

    /// A driver can hang a read for as long as it likes, so the reading is done beside us.
    fn collect(&mut self, deadline: Duration) -> Result<Raw, SessionError> {
        use std::sync::mpsc::RecvTimeoutError;
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(crosstie_node::collect()));
        let node = self.name().to_owned();
        receiver
            .recv_timeout(deadline)
            .map_err(|error| match error {
                RecvTimeoutError::Timeout => SessionError::Deadline { node, deadline },
                RecvTimeoutError::Disconnected => SessionError::Lost { node },
            })
    }
}
