//! What this tool has written on the node, so that a plan is the difference and nothing more.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ManagedFiles {
    /// Whole files of ours: path → text, as it was written.
    pub files: BTreeMap<String, String>,
    /// Our blocks in files that others write too: path → text between the marks.
    pub blocks: BTreeMap<String, String>,
    /// Files and blocks that were ours and have been changed since.
    pub edited: BTreeSet<String>,
    /// Other people's network files that were set aside, by the path that they had.
    pub aside: BTreeSet<String>,
    /// Units of ours that the boot starts.
    pub units: BTreeSet<String>,
}
