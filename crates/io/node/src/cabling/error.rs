//! Why a node takes no part. It travels to the controller, so causes are told as text.

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum CablingError {
    #[error("finding out the cabling takes root, and there is none here{}{why}", if .why.is_empty() { "" } else { ": " })]
    NotRoot {
        /// What sudo said.
        why: String,
    },
    #[error("another run listens on this node now; wait for it to end")]
    Busy,
    #[error("{found} interfaces are more than this tool listens on")]
    TooMany { found: usize },
    #[error("{path}: {why}; no link was touched, since nothing would have restored it")]
    Journal { path: String, why: String },
    #[error("the kernel does not tell its links: {why}")]
    Links { why: String },
}
