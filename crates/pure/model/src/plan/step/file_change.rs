//! What becomes of one file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WantedAndFound;
use crate::{
    Facts,
    managed::{ASIDE_SUFFIX, BlockPlace},
    plan::ValueChange,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FileChange {
    /// A file that is all ours.
    Whole {
        path: String,
        mode: FileMode,
        text: ValueChange<Option<String>>,
    },
    /// Our block in a file that others write too.
    Block {
        path: String,
        place: BlockPlace,
        text: ValueChange<Option<String>>,
    },
    /// Someone else's file for the same interfaces, renamed so that nobody reads it.
    Aside {
        path: String,
        aside: ValueChange<bool>,
    },
}

/// Owner is root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FileMode {
    #[serde(rename = "0600")]
    Private,
    #[serde(rename = "0644")]
    Public,
}

impl FileMode {
    pub fn bits(self) -> u32 {
        match self {
            Self::Private => 0o600,
            Self::Public => 0o644,
        }
    }
}

/// Where a file goes that is set aside.
pub fn aside(path: &str) -> String {
    format!("{path}{ASIDE_SUFFIX}")
}

impl FileChange {
    pub fn path(&self) -> &str {
        match self {
            Self::Whole { path, .. } | Self::Block { path, .. } | Self::Aside { path, .. } => path,
        }
    }

    /// Of a file that is only renamed; the others are shown as a diff.
    pub fn words(&self) -> Option<String> {
        let Self::Aside { path, aside: to } = self else {
            return None;
        };
        let other = aside(path);
        let other = other.rsplit('/').next().unwrap_or(&other);
        Some(if to.to {
            format!("set {path} aside, as {other}: it configures the same ports")
        } else {
            format!("restore {path} from {other}")
        })
    }

    #[must_use]
    pub fn undo(&self) -> Self {
        let mut change = self.clone();
        match &mut change {
            Self::Whole { text, .. } | Self::Block { text, .. } => *text = text.undo(),
            Self::Aside { aside, .. } => *aside = aside.undo(),
        }
        change
    }

    pub(super) fn is_done(&self, now: &Facts) -> bool {
        let managed = &now.managed;
        match self {
            Self::Whole { path, text, .. } => managed.files.get(path) == text.to.as_ref(),
            Self::Block { path, text, .. } => managed.blocks.get(path) == text.to.as_ref(),
            Self::Aside { path, aside } => managed.aside.contains(path) == aside.to,
        }
    }

    pub(super) fn compare(&self, now: &Facts) -> WantedAndFound {
        let path = self.path();
        let managed = &now.managed;
        let (wanted, is_there) = match self {
            Self::Whole { text, .. } => (text.to.is_some(), managed.files.contains_key(path)),
            Self::Block { text, .. } => (text.to.is_some(), managed.blocks.contains_key(path)),
            Self::Aside { aside, .. } => {
                let is_aside = managed.aside.contains(path);
                return WantedAndFound::toggle(aside, is_aside, "set aside", "in force");
            }
        };
        let found = if managed.edited.contains(path) {
            "edited by someone"
        } else if is_there && wanted {
            "another text of this tool's"
        } else if is_there {
            "still there"
        } else {
            "gone"
        };
        let wanted = if wanted {
            "as it was written"
        } else {
            "no such file"
        };
        WantedAndFound {
            wanted: wanted.to_owned(),
            found: found.to_owned(),
        }
    }
}
