//! What is asked of a node that is to be changed, and what it answers.
//!
//! A change is a transaction of the node's own: a journal with all that a rollback needs is on its disk, and a guard is armed, before
//! the first file is touched. Unless it is confirmed in time, the node rolls back by itself.

use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{HardwareAddress, NodePlan};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeRequest {
    /// Do the plan. Answered once every step is seen to be done; the guard is armed then.
    Apply(Box<ApplyRequest>),
    /// Run a person's own command. Answered once it has ended; the guard is armed then.
    Try(TryRequest),
    /// Keep it. Only sense over a connection that was opened after the change.
    Confirm {
        transaction: String,
    },
    /// Everything as it was before `transaction`, or before the last one that is in force.
    Rollback {
        transaction: Option<String>,
        /// Nothing but these: where another would have to be rolled back with them, nothing is.
        only: Option<Vec<String>>,
        /// Also where somebody has edited a file since; the edit is kept aside.
        force: bool,
        /// For the journal; nothing where a person asked for it.
        why: Option<String>,
    },
    /// Everything as it was before the first one, and nothing of this tool left.
    Uninstall {
        force: bool,
    },
    Status,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyRequest {
    /// What all nodes of one command share: `20261116T175500Z-1f2e3d4c`, by the controller's clock.
    pub run: String,
    /// The cluster's name, for whoever looks at the journal.
    pub cluster: String,
    pub plan: NodePlan,
    /// Seconds from arming to the rollback.
    pub guard_seconds: u32,
    /// Also where programs have queue pairs on a port that changes.
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryRequest {
    /// As in an `ApplyRequest`.
    pub run: String,
    /// Program and arguments; no shell comes between.
    pub command: Vec<String>,
    /// Files and folders that are restored, besides the usual ones of network managers.
    pub files: Vec<String>,
    pub guard_seconds: u32,
    /// The command is ended after so long.
    pub command_seconds: u32,
    /// Also where something of the network could not be restored.
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeReply {
    /// Done and seen to be done; to be confirmed.
    Armed(ArmedChange),
    Confirmed,
    RolledBack(RollbackReport),
    /// There was nothing to roll back to.
    Nothing,
    Status(NodeChangeStatus),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmedChange {
    pub transaction: String,
    /// Until the node rolls back by itself.
    pub seconds_left: u32,
    /// Of a trial: how its command ended and what it printed (the last of it).
    pub ended: Option<TryCommandResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryCommandResult {
    /// `None` where a signal or its deadline ended it.
    pub status: Option<i32>,
    pub output: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RollbackReport {
    /// Transactions that are rolled back now, in the order in which they were.
    pub transactions: Vec<String>,
    /// Other people's edits, and where they are kept now.
    pub kept: Vec<String>,
    /// What could not be restored and does no harm (a module in use), for a person to know.
    pub left: Vec<String>,
    /// The next one that was to be rolled back, and why it was not, nor any before it.
    pub still_in_force: Option<StillInForce>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StillInForce {
    pub transaction: String,
    pub why: String,
}

/// What a node's own journal says, and whether it is still true.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NodeChangeStatus {
    /// Oldest first. Those that were rolled back are listed until the next change.
    pub transactions: Vec<TransactionStatus>,
    pub drift: Vec<Drift>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionStatus {
    pub id: String,
    /// What all nodes of one command share. Absent in journals from before there were runs.
    pub run: Option<String>,
    pub kind: TransactionKind,
    /// The cluster's name; of a trial, its command.
    pub what: String,
    pub state: TransactionState,
    /// When it was begun, by the node's clock: `2026-11-15T10:00:00Z`.
    pub began: String,
    /// Until the node rolls back by itself.
    pub seconds_left: Option<u32>,
    /// Why it was rolled back.
    pub why: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionKind {
    Apply,
    Try,
}

/// How far a transaction is. The first three end in a rollback, unless they are confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionState {
    /// The journal is written; nothing is changed yet.
    Prepared,
    /// The guard waits; changes may have been made.
    Armed,
    /// Every change is made and was seen.
    Applied,
    Confirmed,
    /// Being rolled back. It goes on with every boot until it is done.
    RollingBack,
    RolledBack,
}

impl TransactionState {
    /// Neither kept nor rolled back.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Confirmed | Self::RolledBack)
    }

    /// Behind the name of a change.
    pub fn words(self) -> &'static str {
        match self {
            Self::Prepared => "is prepared, with nothing changed yet",
            Self::Armed => "is being made",
            Self::Applied => "is made and not confirmed yet",
            Self::Confirmed => "is confirmed",
            Self::RollingBack => "is being rolled back",
            Self::RolledBack => "is rolled back",
        }
    }
}

impl TransactionStatus {
    /// Kept, or not rolled back yet.
    pub fn is_in_force(&self) -> bool {
        self.state != TransactionState::RolledBack
    }
}

/// A managed file or value that is not as it was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// A path, a sysctl, an interface, a unit.
    pub what: String,
    pub wanted: String,
    pub found: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "probe", rename_all = "kebab-case")]
pub enum ReachabilityProbe {
    /// An echo request.
    Ping {
        address: IpAddr,
        /// Out of this interface and no other.
        interface: Option<String>,
        /// Size of the whole IP packet, which may not be fragmented.
        bytes: Option<u32>,
    },
    /// A TCP connection to a server that speaks first (`SSH-2.0-…`).
    Greeting { address: SocketAddr },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeResult {
    pub probe: ReachabilityProbe,
    /// Why there was no answer.
    pub problem: Option<String>,
    /// Whose hardware address the answer was sought at, by the kernel's neighbour table.
    #[schemars(with = "Option<String>")]
    pub neighbour: Option<HardwareAddress>,
}

fn but_installed(packages: &[String]) -> String {
    if packages.is_empty() {
        return String::new();
    }
    format!(", but {} stay installed", packages.join(", "))
}

/// Why a node was not changed, or not as asked. It travels to the controller, so causes are told as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum ChangeError {
    #[error("changing it takes root, and there is none here{}{why}", if .why.is_empty() { "" } else { ": " })]
    NotRoot {
        /// What sudo said.
        why: String,
    },
    #[error("{what} runs on this node now; wait for it to end")]
    Busy { what: String },
    #[error(
        "jobs of `crosstie launch` run on it, and nothing else could end them: {jobs}; end them first \
         (crosstie launch stop --all --sudo); nothing was rolled back"
    )]
    JobsRun { jobs: String },
    #[error(
        "another change, {transaction}, {}; wait until it is confirmed, or roll it back first", .state.words()
    )]
    Open {
        transaction: String,
        state: TransactionState,
    },
    #[error("it is not as it was when the plan was made: {what}; plan again")]
    Stale { what: String },
    #[error(
        "programs use RDMA on {interface} now ({users}); end them, or pass --force and break their connections"
    )]
    InUse { interface: String, users: String },
    #[error(
        "whether programs use RDMA on {interface} cannot be read ({why}); end them, or pass --force and break their \
         connections"
    )]
    UsersUnread { interface: String, why: String },
    #[error(
        "this could not be restored: {what}; the command was not run. Pass --force to run it all the same"
    )]
    Irreversible { what: String },
    #[error("{what}: {why}; nothing was changed")]
    NotBegun { what: String, why: String },
    /// What the node keeps of its changes cannot be read or written. What was changed before stays as it is.
    #[error("{what}: {why}")]
    Journal { what: String, why: String },
    #[error(
        "the confirmation cannot be written: {why}; the change was made, and is rolled back unless it is confirmed"
    )]
    NotConfirmed { why: String },
    #[error(
        "the guard of a rollback cannot be set up: {why}; change {transaction} was not rolled back"
    )]
    NotRolledBack { transaction: String, why: String },
    #[error("the guard of an earlier change cannot be removed: {why}")]
    GuardStays { why: String },
    #[error("the guard cannot be set up: {why}; nothing was changed{}", but_installed(.installed))]
    NoGuard {
        why: String,
        /// Packages that were installed before, and stay.
        installed: Vec<String>,
    },
    #[error("installing packages: {why}; nothing else was changed")]
    Packages { why: String },
    #[error("{step}: {why}; it is as it was before")]
    Failed { step: String, why: String },
    #[error("{step}: {why}; it was rolled back, but for this: {}", .left.join("; "))]
    FailedWithRest {
        step: String,
        why: String,
        left: Vec<String>,
    },
    #[error(
        "{step}: {why}; rolling back failed too ({also}), and is tried again by the guard and with every boot"
    )]
    Stuck {
        step: String,
        why: String,
        also: String,
    },
    #[error(
        "the rollback of {transaction} cannot be finished now: {}; the next boot or the next change does so",
        .left.join("; ")
    )]
    UnfinishedRollback {
        transaction: String,
        left: Vec<String>,
    },
    #[error("there is no open transaction {transaction} here: it was {state}")]
    NotOpen { transaction: String, state: String },
    #[error(
        "transaction {transaction} was begun on it since, and would be rolled back too; nothing was rolled back; look again"
    )]
    Newer { transaction: String },
    #[error(
        "somebody has edited {files} since; pass --force to roll back all the same (the edit is kept beside the journal)"
    )]
    Edited { files: String },
}
