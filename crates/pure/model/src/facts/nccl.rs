//! NCCL settings, from every place that NCCL (or the shell that starts it) reads.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeNcclSettings {
    /// In order of precedence: the first one that names a variable wins.
    pub settings: Vec<NcclSetting>,
}

impl NodeNcclSettings {
    /// The value that would be in force. NCCL takes an empty integer parameter as unset.
    pub fn effective(&self, name: &str) -> Option<&NcclSetting> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NcclSetting {
    pub name: String,
    pub value: String,
    /// The file, or `environment`.
    pub source: String,
}
