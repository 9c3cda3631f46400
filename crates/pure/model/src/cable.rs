//! What is plugged into what.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
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
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "Table", into = "Table")]
#[schemars(with = "Table")]
pub enum Cable {
    /// Two cages joined with nothing in between.
    Direct {
        a: PortRef,
        b: PortRef,
        /// Which of the pool's subnets are its own. It stays when other cables come and go.
        number: Option<u32>,
    },
    /// A cage joined to a switch plane; cages of one plane reach each other.
    Switched { port: PortRef, plane: String },
}

/// A `[[cable]]` as it is written: `a` and `b`, or `port` and `plane`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Cable")]
struct Table {
    /// One end of a cable between two cages, as NODE:CAGE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    a: Option<PortRef>,
    /// The other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    b: Option<PortRef>,
    /// A cage that is cabled to a switch, as NODE:CAGE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    port: Option<PortRef>,
    /// The switch, or the switches that are joined: cages of one plane reach each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plane: Option<String>,
    /// Which of the pool's subnets are its own. It stays when other cables come and go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "a cable has either `a` and `b`, two cages, or `port` and `plane`, a cage and its switch (and then no `number`)"
)]
pub struct CableError;

impl TryFrom<Table> for Cable {
    type Error = CableError;
    fn try_from(table: Table) -> Result<Self, CableError> {
        match table {
            Table {
                a: Some(a),
                b: Some(b),
                port: None,
                plane: None,
                number,
            } => Ok(Self::Direct { a, b, number }),
            Table {
                a: None,
                b: None,
                port: Some(port),
                plane: Some(plane),
                number: None,
            } => Ok(Self::Switched { port, plane }),
            _ => Err(CableError),
        }
    }
}

impl From<Cable> for Table {
    fn from(cable: Cable) -> Self {
        let mut table = Self {
            a: None,
            b: None,
            port: None,
            plane: None,
            number: None,
        };
        match cable {
            Cable::Direct { a, b, number } => {
                (table.a, table.b, table.number) = (Some(a), Some(b), number);
            }
            Cable::Switched { port, plane } => {
                (table.port, table.plane) = (Some(port), Some(plane));
            }
        }
        table
    }
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct { a, b, number: _ } => write!(f, "{a} – {b}"),
            Self::Switched { port, plane } => write!(f, "{port} – {plane}"),
        }
    }
}

impl Cable {
    pub fn ends(&self) -> impl Iterator<Item = &PortRef> {
        let (first, second) = match self {
            Self::Direct { a, b, number: _ } => (a, Some(b)),
            Self::Switched { port, plane: _ } => (port, None),
        };
        std::iter::once(first).chain(second)
    }
}
