//! Modules, packages, libraries and services.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TextReading;
use crate::Reading;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SoftwareFacts {
    /// Loaded modules that matter to RDMA and GPUs.
    pub modules: BTreeMap<String, LoadedModule>,
    /// Where depmod would load a module from, relative to `/lib/modules/RELEASE`.
    pub module_paths: Reading<BTreeMap<String, String>>,
    /// Installed packages that matter, name → version. Absent where there is no dpkg.
    pub packages: Reading<BTreeMap<String, String>>,
    /// `libnccl`, `libibverbs`, … found on disk.
    pub libraries: Vec<InstalledLibrary>,
    /// Services now running, of those that matter.
    pub services: Vec<String>,
    pub nvidia_module: TextReading,
}

impl SoftwareFacts {
    pub fn module(&self, name: &str) -> Option<&LoadedModule> {
        self.modules.get(name)
    }

    pub fn package(&self, name: &str) -> Option<&str> {
        self.packages.known()?.get(name).map(String::as_str)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoadedModule {
    pub version: TextReading,
    /// Built outside the kernel tree (taint flag `O`).
    pub out_of_tree: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledLibrary {
    /// `libnccl`, `libibverbs`, `libnccl-net`, …
    pub name: String,
    pub path: String,
    pub version: TextReading,
}
