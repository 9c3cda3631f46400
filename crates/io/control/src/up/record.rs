//! What `up` did for a cluster, and when: `$XDG_STATE_HOME/crosstie/CLUSTER/up.toml`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};

use crosstie_report::up::UpStage;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::{
    chain_of,
    files::{self, CreateFolderError, FileWriteError, make_folder},
};

const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct UpRecord {
    format: u32,
    pub(super) cluster: String,
    /// The cluster file.
    pub(super) file: String,
    pub(super) nodes: Vec<String>,
    /// What its changes share, in the journals of the nodes; of an earlier run, until what that one left open is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<String>,
    #[serde(default, rename = "stage")]
    stages: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    name: UpStage,
    /// RFC 3339.
    began: String,
    /// Absent where it was cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// `says` in files of older builds.
    #[serde(default, alias = "says", skip_serializing_if = "String::is_empty")]
    summary: String,
}

impl UpRecord {
    pub(super) fn new(cluster: &str, file: &Path, nodes: &[&str], run: &str) -> Self {
        Self {
            format: FORMAT,
            cluster: cluster.to_owned(),
            file: file.display().to_string(),
            nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
            run: Some(run.to_owned()),
            stages: Vec::new(),
        }
    }

    /// It has begun nothing yet, and may be cut short before it has settled what the one before it left open.
    #[must_use]
    pub(super) fn after(mut self, before: &Self) -> Self {
        self.run.clone_from(&before.run);
        self
    }

    /// Nothing of an earlier run is open any more.
    pub(super) fn settled(&mut self, run: &str) {
        self.run = Some(run.to_owned());
    }

    pub(super) fn begin(&mut self, stage: UpStage, now: String) {
        self.stages.push(Entry {
            name: stage,
            began: now,
            ended: None,
            summary: String::new(),
        });
    }

    pub(super) fn end(&mut self, now: String, summary: &str) {
        if let Some(last) = self.stages.last_mut() {
            last.ended = Some(now);
            summary.clone_into(&mut last.summary);
        }
    }

    /// The stage that was under way when nobody wrote any more, and since when.
    pub(super) fn cut_short(&self) -> Option<(UpStage, &str)> {
        let last = self.stages.last()?;
        last.ended.is_none().then_some((last.name, &last.began))
    }

    /// `None` where there is none. One that cannot be used is not worth failing for: every stage looks for itself.
    pub(super) fn load(folder: &Path) -> Option<Self> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            text => text,
        };
        let parsed = text
            .map_err(|error| error.to_string())
            .and_then(|text| toml::from_str::<Self>(&text).map_err(|error| chain_of(&error)));
        match parsed {
            Ok(record) if record.format == FORMAT => Some(record),
            Ok(record) => {
                let format = record.format;
                tracing::warn!("{} has format {format}, and is left out", path.display());
                None
            }
            Err(error) => {
                tracing::warn!("{} is left out: {error}", path.display());
                None
            }
        }
    }

    /// Held as long as a run of `up` for this cluster lasts.
    pub(super) fn lock(folder: &Path) -> Result<File, UpRecordLockError> {
        make_folder(folder)?;
        let path = folder.join(LOCK);
        let failed = |source| FileWriteError {
            path: path.clone(),
            source,
        };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            file.take(16).read_to_string(&mut pid).map_err(failed)?;
            let pid = pid.trim().to_owned();
            return Err(UpRecordLockError::Running { pid });
        }
        file.set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(failed)?;
        Ok(file)
    }

    pub(super) fn save(&self, folder: &Path) -> Result<(), UpRecordSaveError> {
        make_folder(folder)?;
        let text = toml::to_string(self)?;
        Ok(files::replace(&folder.join(FILE), &text)?)
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum UpRecordSaveError {
    #[error(transparent)]
    Folder(#[from] CreateFolderError),
    #[error(transparent)]
    Serialize(#[from] toml::ser::Error),
    #[error(transparent)]
    Write(#[from] FileWriteError),
}

const FILE: &str = "up.toml";
const LOCK: &str = "up.lock";

#[derive(Debug, thiserror::Error)]
pub enum UpRecordLockError {
    #[error("another `crosstie up` for this cluster is still running, pid {pid}")]
    Running { pid: String },
    #[error(transparent)]
    Folder(#[from] CreateFolderError),
    #[error(transparent)]
    Write(#[from] FileWriteError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_at_a_time_and_the_other_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let held = UpRecord::lock(folder.path()).unwrap();
        let error = UpRecord::lock(folder.path()).unwrap_err().to_string();
        let pid = format!("still running, pid {}", std::process::id());
        assert!(error.ends_with(&pid), "{error}");
        drop(held);
        UpRecord::lock(folder.path()).unwrap();
    }

    #[test]
    fn a_run_that_was_cut_short_is_seen_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("sparks");
        assert!(UpRecord::load(&folder).is_none());
        let run = "20261115T100000Z-1f2e3d4c";
        let mut record = UpRecord::new("sparks", Path::new("cluster.toml"), &["spark-a"], run);
        record.begin(UpStage::Scan, "2026-11-15T10:00:00Z".to_owned());
        record.end("2026-11-15T10:00:03Z".to_owned(), "2 nodes");
        record.begin(UpStage::Apply, "2026-11-15T10:00:04Z".to_owned());
        record.save(&folder).unwrap();
        let read = UpRecord::load(&folder).unwrap();
        assert_eq!(read, record);
        // As builds before this one called it.
        let path = folder.join(FILE);
        let older = fs::read_to_string(&path).unwrap();
        let older = older.replace("summary = ", "says = ");
        assert!(older.contains("says = \"2 nodes\""), "{older}");
        fs::write(&path, older).unwrap();
        assert_eq!(UpRecord::load(&folder).unwrap(), record);
        assert_eq!(
            read.cut_short(),
            Some((UpStage::Apply, "2026-11-15T10:00:04Z"))
        );
        record.end("2026-11-15T10:00:05Z".to_owned(), "");
        assert_eq!(record.cut_short(), None);
        // Cut short, too, before it has settled anything: the third still knows what to roll back.
        let later = "20261115T110000Z-00000002";
        let mut second =
            UpRecord::new("sparks", Path::new("cluster.toml"), &["spark-a"], later).after(&read);
        second.begin(UpStage::Scan, "2026-11-15T11:00:00Z".to_owned());
        second.save(&folder).unwrap();
        let left = UpRecord::load(&folder).unwrap();
        assert_eq!(left.run.as_deref(), Some(run));
        second.settled(later);
        assert_eq!(second.run.as_deref(), Some(later));
        for odd in ["format = 2", "format = 1\ncluster = 5", "\u{0}"] {
            fs::write(folder.join(FILE), odd).unwrap();
            assert!(UpRecord::load(&folder).is_none(), "{odd}");
        }
    }
}
