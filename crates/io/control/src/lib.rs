//! What a controller does with its nodes, as a library: typed events out, typed errors back, and no terminal.

pub mod apply;
pub mod bench;
mod cabling;
mod cluster_file;
mod command_verdict;
mod connector;
mod consent;
pub mod discover;
pub mod doctor;
pub mod env;
mod error;
mod event;
#[cfg(test)]
mod fake_session;
pub mod files;
mod fleet;
pub mod init;
pub mod launch;
pub mod measure;
pub mod nccl_log;
pub mod plan;
pub mod prove;
mod random;
pub mod report;
pub mod runs;
pub mod scan;
mod snapshot;
pub mod state;
mod targets;
pub mod trust;
pub mod up;

pub use cabling::{CablingListenError, NoPortReasons};
pub use cluster_file::{CLUSTER_FILE, ClusterFileReadError, read_existing};
pub use command_verdict::CommandVerdict;
pub use connector::{Connector, NodeRouteError};
pub use consent::{
    Consent, ConsentAnswer, ConsentError, ConsentQuestion, Prompter, is_declined_error,
};
pub use error::{NodeError, NodesFailed, chain_of, failure_report};
pub use event::{ControlEvent, EventObserver, FleetRound, NoObserver};
pub use fleet::{
    COLLECT_TIMEOUT, Fleet, FleetError, FleetOptions, NodeWork, PROMPT_TIMEOUT, RunningLab,
};
pub use random::NoRandomNumbers;
pub use snapshot::{FleetSnapshot, NodeFacts, NodeReading, NodeSnapshot, SnapshotError, captured};
pub use targets::{
    LabTargets, RequestedTargets, ResolvedTargets, TargetNodes, TargetsError, destinations,
};
