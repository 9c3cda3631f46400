//! What a port loses with every boot, as the boot unit reads it again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::FORMAT;

#[derive(Debug, Error)]
pub enum BootFileParseError {
    #[error("it is no file of boot settings")]
    Parse(#[source] toml::de::Error),
    #[error("it has format {found}; this build reads format {FORMAT}")]
    Format { found: u32 },
}

/// The file that the boot unit reads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootUnitSettings {
    pub format: u32,
    /// Interfaces that stay down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<String>,
    #[serde(default, rename = "port", skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<BootPortSettings>,
}

impl BootUnitSettings {
    pub fn from_toml(text: &str) -> Result<Self, BootFileParseError> {
        // Another format may have other keys, and its number says more than the first of them.
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = toml::from_str(text).map_err(BootFileParseError::Parse)?;
        if version.format != FORMAT {
            return Err(BootFileParseError::Format {
                found: version.format,
            });
        }
        toml::from_str(text).map_err(BootFileParseError::Parse)
    }
}

/// A value that is left out is left alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootPortSettings {
    pub interface: String,
    pub device: String,
    pub port: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pfc: Option<Vec<u8>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
    /// Priorities on which congestion is told of, and heeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Vec<u8>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_class: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roce_mode: Option<String>,
    /// DSCP → priority; TOML's keys are text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<BTreeMap<String, u8>>,
}
