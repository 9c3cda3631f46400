//! What `crosstie plan` says: a difference that a person reads in a minute.

mod diff;
mod files;
mod summary;
mod view;

use crosstie_model::{ClusterPlan, ClusterSpec};
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{NodeFailure, closed_schema};

pub use diff::diff;
pub use files::{PlannedFile, files};
pub use summary::summary;
pub use view::view;

/// What `plan --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanReport<'a> {
    #[serde(flatten)]
    pub plan: &'a ClusterPlan,
    /// Why nodes are missing.
    pub unread: &'a [NodeFailure],
}

/// The JSON schema of `plan --json`.
pub fn schema() -> schemars::Schema {
    closed_schema::<PlanReport>()
}

/// The JSON schema of the cluster file, for editors.
pub fn cluster_schema() -> schemars::Schema {
    schemars::schema_for!(ClusterSpec)
}
