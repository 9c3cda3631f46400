//! What `crosstie plan` says: a difference that a person reads in a minute.

mod diff;
mod files;
mod view;
mod words;

use crosstie_model::{Plan, Spec};

pub use diff::diff;
pub use files::{Written, files};
pub use view::{Unread, view};
pub use words::words;

/// The JSON schema of `plan --json`.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Plan)
}

/// The JSON schema of the cluster file, for editors.
pub fn cluster_schema() -> schemars::Schema {
    schemars::schema_for!(Spec)
}
