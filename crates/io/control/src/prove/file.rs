//! The file of a run: made once, appended to while it is measured, and ended also by a signal.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Instant,
};

use crosstie_model::run::{
    LostNode, Measurement, RunEnd, RunEndReason, RunHeader, RunWriter, WriteRunError,
};
use crosstie_reach::{EndOnSignal, end_on_signals};

use crate::files::sync_name;

#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    #[error("{path}: cannot be made")]
    Make { path: String, source: io::Error },
    #[error("{path}: cannot be written")]
    Append { path: String, source: io::Error },
    #[error(transparent)]
    Line(#[from] WriteRunError),
}

/// A run on disk while it goes on.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    began: Instant,
    /// Until it has an end.
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    writer: RunWriter,
    file: File,
}

impl RunFile {
    /// Never one that is there already. From now on Ctrl-C ends the run as well.
    pub fn begin(path: &Path, header: RunHeader) -> Result<Arc<Self>, RunFileError> {
        let failed = |source| RunFileError::Make {
            path: path.display().to_string(),
            source,
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let made = OpenOptions::new().append(true).create_new(true).open(path);
        let file = made.map_err(failed)?;
        let (writer, line) = RunWriter::new(header)?;
        let run = Arc::new(Self {
            path: path.to_owned(),
            began: Instant::now(),
            open: Mutex::new(Some(Open { writer, file })),
        });
        run.append(|_| Ok(line))?;
        sync_name(path).map_err(failed)?;
        let ended: Weak<Self> = Arc::downgrade(&run);
        end_on_signals(ended);
        Ok(run)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn elapsed_milliseconds(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What came of a step, onto the disk: a power cut leaves what was measured before.
    pub(super) fn record(
        &self,
        measurements: &[Measurement],
        lost: &[LostNode],
    ) -> Result<(), RunFileError> {
        for one in measurements {
            self.append(|writer| writer.measurement(one.clone()))?;
        }
        for node in lost {
            self.append(|writer| writer.lost(node.clone()))?;
        }
        self.flush()
    }

    /// Nothing is written after it.
    pub(super) fn end(&self, end: RunEnd) -> Result<(), RunFileError> {
        let Some(Open { writer, mut file }) = self.open().take() else {
            return Ok(());
        };
        let line = writer.end(end)?;
        let written = file.write_all(line.as_bytes());
        let kept = written.and_then(|()| file.sync_data());
        kept.map_err(|source| self.failed(source))
    }

    /// A whole line with one write: what a kill leaves is at most one torn line, the last. Of a run that has ended, nothing.
    fn append(
        &self,
        line: impl FnOnce(&mut RunWriter) -> Result<String, WriteRunError>,
    ) -> Result<(), RunFileError> {
        let mut open = self.open();
        let Some(Open { writer, file }) = open.as_mut() else {
            return Ok(());
        };
        let line = line(writer)?;
        let written = file.write_all(line.as_bytes());
        written.map_err(|source| self.failed(source))
    }

    fn flush(&self) -> Result<(), RunFileError> {
        match self.open().as_ref() {
            Some(open) => open.file.sync_data().map_err(|source| self.failed(source)),
            None => Ok(()),
        }
    }

    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, source: io::Error) -> RunFileError {
        RunFileError::Append {
            path: self.path.display().to_string(),
            source,
        }
    }
}

impl EndOnSignal for RunFile {
    fn end(&self) {
        let end = RunEnd {
            reason: RunEndReason::Interrupted,
            offset_milliseconds: self.elapsed_milliseconds(),
        };
        if let Err(error) = self.end(end) {
            tracing::warn!("the run has no end: {}", crate::chain_of(&error));
        }
    }
}
