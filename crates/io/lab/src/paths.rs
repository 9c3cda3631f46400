//! Where labs and images live.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabPaths {
    /// One directory a lab.
    pub labs: PathBuf,
    pub cache: PathBuf,
}

impl LabPaths {
    /// Labs are kept in `directory`; the image cache is shared by all.
    pub fn new(directory: &Path) -> Self {
        Self {
            labs: std::path::absolute(directory).unwrap_or_else(|_| directory.into()),
            cache: cache(),
        }
    }

    /// Labs of tests, apart from a person's; `lab down --all` ends those too.
    pub fn of_tests() -> Self {
        Self::new(&cache().join("test-labs"))
    }

    pub(crate) fn lab(&self, name: &str) -> PathBuf {
        self.labs.join(name)
    }

    pub(crate) fn lock(&self, name: &str) -> PathBuf {
        self.labs.join(format!("{name}.lock"))
    }

    pub(crate) fn images(&self) -> PathBuf {
        self.cache.join("images")
    }

    pub(crate) fn snapshots(&self) -> PathBuf {
        self.cache.join("snapshots")
    }
}

/// `$XDG_CACHE_HOME/crosstie`, after the XDG base directory specification.
fn cache() -> PathBuf {
    // The specification asks to ignore relative paths.
    let absolute = |variable| {
        let path = std::env::var_os(variable).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").unwrap_or_else(|| {
        let home = absolute("HOME").unwrap_or_else(|| "/var/tmp".into());
        home.join(".cache")
    });
    cache.join("crosstie")
}

/// Bytes that an unprivileged user can still write below `path`, or below its nearest existing parent.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let stat = rustix::fs::statvfs(existing).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}
