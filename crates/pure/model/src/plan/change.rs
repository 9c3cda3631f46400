//! A value, as it was and as it becomes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From one value to another; undone by going the other way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValueChange<T> {
    pub from: T,
    pub to: T,
}

impl<T: Clone + PartialEq> ValueChange<T> {
    /// `None` where there is nothing to do.
    pub fn between(from: T, to: T) -> Option<Self> {
        (from != to).then_some(Self { from, to })
    }

    #[must_use]
    pub fn undo(&self) -> Self {
        Self {
            from: self.to.clone(),
            to: self.from.clone(),
        }
    }
}
