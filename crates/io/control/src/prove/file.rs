//! The file of a run: made once, appended to, read with a bound.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    #[error("{path}: cannot be made")]
    Make { path: String, source: io::Error },
    #[error("{path}: cannot be written")]
    Append { path: String, source: io::Error },
}

/// A run on disk while it goes on.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    file: File,
}

impl RunFile {
    /// Never one that is there already.
    pub fn make(path: &Path) -> Result<Self, RunFileError> {
        let failed = |source| RunFileError::Make {
            path: path.display().to_string(),
            source,
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let made = OpenOptions::new().append(true).create_new(true).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: made.map_err(failed)?,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A whole line with one write: what a kill leaves is at most one torn line, the last.
    pub(super) fn append(&mut self, line: &str) -> Result<(), RunFileError> {
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|source| self.failed(source))
    }

    /// Onto the disk: a power cut leaves what was measured before.
    pub(super) fn flush(&mut self) -> Result<(), RunFileError> {
        let synced = self.file.sync_data();
        synced.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> RunFileError {
        RunFileError::Append {
            path: self.path.display().to_string(),
            source,
        }
    }
}
