//! A folder for this run alone, which goes when it ends.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Names that others may have left.
const ATTEMPTS: u32 = 1000;

#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Nobody else can look into it. Its path is short: a socket's may have 107 bytes.
    pub fn new() -> io::Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let short =
            |path: &PathBuf| path.is_absolute() && path.is_dir() && path.as_os_str().len() < 40;
        let parent = runtime.filter(short).unwrap_or_else(|| "/tmp".into());
        for _ in 0..ATTEMPTS {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("crosstie-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
