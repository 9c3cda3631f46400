//! Keys and logins in a home directory: what is asked for, and what was done.
//!
//! Everything of ours lies in `~/.ssh/crosstie`. Beyond it a person's own files get a few lines, and the journal there
//! knows how they were.

mod agent;
mod alias_checks;
mod error;
mod files;
mod home;
mod home_writer;
mod key;
mod peers;
mod settle;
mod undo;

use std::{fmt, time::Duration};

use crosstie_trust::{
    AuthorizedKey, InstalledAgent, MachineName, PeerAlias, PeerClaims, PublicKey, TrustedNode,
    UnwrittenAlias, UserName,
};
use serde::{Deserialize, Serialize};

pub use agent::{pushed, remove_unrecorded_agent};
use alias_checks::AliasChecks;
pub use error::HomeTrustError;
pub use home::{HomeFolder, HomeLock, host_key_here};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustRequest {
    Settle(WantedTrust),
    Undo {
        /// These alone are forgotten; absent, everything is undone.
        only: Option<Vec<MachineName>>,
        dry_run: bool,
    },
}

/// What shall be so. What already is so is left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedTrust {
    /// What this party is called.
    pub own: MachineName,
    /// Keys that are let in.
    pub authorize: Vec<AuthorizedKey>,
    /// Machines that are logged in to. Of their names and addresses those are written at which this machine sees their
    /// keys.
    pub peers: Vec<PeerClaims>,
    /// On a controller: the nodes that are about to be changed.
    pub reached: Vec<TrustedNode>,
    pub dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustReply {
    pub user: UserName,
    /// The port of the sshd that we came by.
    pub port: Option<u16>,
    /// Absent where none was made, in a rehearsal or after an undo.
    pub key: Option<PublicKey>,
    /// On a controller: the nodes where something is left to undo.
    pub reached: Vec<TrustedNode>,
    pub changed: Vec<TrustChange>,
    /// The names and addresses that lead to the peers now.
    pub aliases: Vec<PeerAlias>,
    pub unwritten: Vec<UnwrittenAlias>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustChange {
    pub path: String,
    pub what: String,
}

impl fmt::Display for TrustChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.what)
    }
}

/// How long a machine may look for its peers, beyond what the rest of a [`WantedTrust`] takes.
pub const ALIAS_CHECK_TIMEOUT: Duration = alias_checks::ALIAS_CHECK_TIMEOUT;

type CheckAliases = dyn Fn(&HomeFolder, &[PeerClaims]) -> Result<AliasChecks, HomeTrustError>;

/// Does it. `pushed` is the agent that this very session brought along.
pub fn handle_request(
    home: &HomeFolder,
    ask: &TrustRequest,
    pushed: Option<&InstalledAgent>,
) -> Result<TrustReply, HomeTrustError> {
    handle_request_with(home, ask, pushed, &alias_checks::check_aliases)
}

fn handle_request_with(
    home: &HomeFolder,
    ask: &TrustRequest,
    pushed: Option<&InstalledAgent>,
    check: &CheckAliases,
) -> Result<TrustReply, HomeTrustError> {
    // It takes seconds, which nobody else has to wait for.
    let seen = match ask {
        TrustRequest::Settle(wanted) if !wanted.dry_run => check(home, &wanted.peers)?,
        _ => AliasChecks::new(),
    };
    let _lock = home.lock()?;
    match ask {
        TrustRequest::Settle(wanted) => settle::apply_wanted(home, wanted, &seen, pushed),
        TrustRequest::Undo { only, dry_run } => undo::undo(home, only.as_deref(), *dry_run, pushed),
    }
}

#[cfg(test)]
mod tests;
