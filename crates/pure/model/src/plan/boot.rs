//! What a port loses with every boot, as the boot unit reads it again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The file that the boot unit reads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boot {
    pub format: u32,
    /// Interfaces that stay down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<String>,
    #[serde(default, rename = "port", skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<BootPort>,
}

/// A value that is left out is left alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootPort {
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
