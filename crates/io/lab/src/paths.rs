//! Where labs and images live.

use std::path::{Path, PathBuf};

use crosstie_model::word;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabPaths {
    /// One directory a lab.
    pub labs: PathBuf,
    pub cache: PathBuf,
    /// What a command needs to be told of it: ` --dir DIR`, or nothing.
    pub(crate) option: String,
}

impl LabPaths {
    /// Labs are kept in `directory`; the image cache is shared by all.
    pub fn new(directory: &Path) -> Self {
        Self {
            labs: std::path::absolute(directory).unwrap_or_else(|_| directory.into()),
            cache: cache(),
            option: String::new(),
        }
    }

    /// The same, where commands have to be told of the directory.
    pub fn named(directory: &Path) -> Self {
        Self {
            option: format!(" --dir {}", word(&directory.display().to_string())),
            ..Self::new(directory)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_directory_is_told_in_commands() {
        let folder = tempfile::tempdir().unwrap();
        let named = LabPaths::named(folder.path());
        assert_eq!(named.option, format!(" --dir {}", folder.path().display()));
        assert_eq!(LabPaths::new(folder.path()).option, "");
    }
}
