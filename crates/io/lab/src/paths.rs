//! Where labs and images live.

use std::path::{Path, PathBuf};

/// Directories after the XDG base directory specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// One directory a lab.
    pub labs: PathBuf,
    pub cache: PathBuf,
}

impl Paths {
    /// `directory` (of `--dir`) replaces the state directory; the image cache stays shared.
    pub fn new(directory: Option<&Path>) -> Self {
        let labs = match directory {
            Some(directory) => std::path::absolute(directory).unwrap_or_else(|_| directory.into()),
            None => Self::state().join("labs"),
        };
        Self {
            labs,
            cache: base("XDG_CACHE_HOME", ".cache").join("crosstie"),
        }
    }

    /// Labs of tests, apart from a person's; `lab down --all` ends those too.
    pub fn of_tests() -> Self {
        let mut paths = Self::new(None);
        paths.labs.set_file_name("test-labs");
        paths
    }

    /// Where this tool keeps what it knows between runs.
    pub fn state() -> PathBuf {
        base("XDG_STATE_HOME", ".local/state").join("crosstie")
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

fn base(variable: &str, under_home: &str) -> PathBuf {
    // The specification asks to ignore relative paths.
    match std::env::var_os(variable).map(PathBuf::from) {
        Some(path) if path.is_absolute() => path,
        _ => {
            let home = std::env::var_os("HOME").map(PathBuf::from);
            home.filter(|home| home.is_absolute())
                .unwrap_or_else(|| "/var/tmp".into())
                .join(under_home)
        }
    }
}

/// Bytes that an unprivileged user can still write below `path`, or below its nearest existing parent.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let stat = rustix::fs::statvfs(existing).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}
