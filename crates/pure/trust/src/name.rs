//! Names of machines and users that may stand in a configuration.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineNameError {
    #[error(
        "{0:?} cannot name a machine here: letters, digits, dots, dashes, underscores and colons can"
    )]
    Machine(String),
    #[error("{0:?} cannot name a user here: letters, digits, dots, dashes, underscores and @ can")]
    User(String),
}

/// A machine's name or address: no pattern, no token, no space, and nothing that could be an option.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MachineName(String);

/// A login.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserName(String);

/// Ours would be longer than any that DNS or useradd take.
const MAX_NAME: usize = 253;
const MAX_USER: usize = 64;

fn is_plain(text: &str, most: usize, also: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || also.contains(c);
    text.len() <= most
        && text.chars().all(plain)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

impl FromStr for MachineName {
    type Err = MachineNameError;

    fn from_str(text: &str) -> Result<Self, MachineNameError> {
        // `none` is a word of ssh's own in several places.
        if is_plain(text, MAX_NAME, "._-:") && !text.eq_ignore_ascii_case("none") {
            return Ok(Self(text.to_owned()));
        }
        Err(MachineNameError::Machine(text.chars().take(80).collect()))
    }
}

impl FromStr for UserName {
    type Err = MachineNameError;

    fn from_str(text: &str) -> Result<Self, MachineNameError> {
        if is_plain(text, MAX_USER, "._-@") && !text.starts_with(':') {
            return Ok(Self(text.to_owned()));
        }
        Err(MachineNameError::User(text.chars().take(80).collect()))
    }
}

macro_rules! text {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = MachineNameError;

            fn try_from(text: String) -> Result<Self, MachineNameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    };
}

text!(MachineName);
text!(UserName);

impl MachineName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whose a key is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyOwner {
    pub user: UserName,
    pub name: MachineName,
}

impl fmt::Display for KeyOwner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.user, self.name)
    }
}
