//! What is plugged into what.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One cage of one node, as a cluster file names it: `spark-a:p0`.
///
/// A cable ends in a cage, not in an interface: the twins behind a cage hear every frame on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PortRef {
    pub node: String,
    pub cage: String,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("'{0}' is not NODE:CAGE, such as spark-a:p0")]
pub struct ParsePortRefError(String);

impl FromStr for PortRef {
    type Err = ParsePortRefError;

    /// The last colon divides: a cage id has none, a node may be a bracketless IPv6 address.
    fn from_str(text: &str) -> Result<Self, ParsePortRefError> {
        match text.rsplit_once(':') {
            Some((node, cage)) if !node.is_empty() && !cage.is_empty() => Ok(Self {
                node: node.to_owned(),
                cage: cage.to_owned(),
            }),
            _ => Err(ParsePortRefError(text.chars().take(80).collect())),
        }
    }
}

impl TryFrom<String> for PortRef {
    type Error = ParsePortRefError;
    fn try_from(text: String) -> Result<Self, ParsePortRefError> {
        text.parse()
    }
}

impl From<PortRef> for String {
    fn from(port: PortRef) -> Self {
        port.to_string()
    }
}

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node, self.cage)
    }
}

/// One physical cable, or one attachment to a switch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Cable {
    /// Two cages joined with nothing in between.
    Direct { a: PortRef, b: PortRef },
    /// A cage joined to a switch plane; cages of one plane reach each other.
    Switched { port: PortRef, plane: String },
}

impl Cable {
    pub fn ends(&self) -> impl Iterator<Item = &PortRef> {
        let (first, second) = match self {
            Self::Direct { a, b } => (a, Some(b)),
            Self::Switched { port, plane: _ } => (port, None),
        };
        std::iter::once(first).chain(second)
    }
}
