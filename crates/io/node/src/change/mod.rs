//! Changing this node: a journal first, a guard armed, then the change; kept once it is confirmed, else undone.

use crosstie_model::change::{Ask, ChangeError, Changed};

/// Where journals are.
pub const STATE: &str = "/var/lib/crosstie/changes";

/// The node's part of every change.
pub fn answer(ask: &Ask) -> Result<Changed, ChangeError> {
    let _ = ask;
    Err(ChangeError::NoGuard {
        why: "this build cannot change nodes yet".to_owned(),
    })
}
