//! Stored runs: where they lie, which is the newest, and how one is read.
//!
//! `$XDG_STATE_HOME/crosstie/CLUSTER/runs/2026-11-14T09-26-00Z.jsonl`: names are times, so they are in order.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crosstie_model::run::{self, MAX_FILE_BYTES, MeasurementOutcome, ReadRunError, StoredRun};

use crate::{
    ClusterFileReadError, cluster_file,
    files::{CreateFolderError, InvalidFolderName, make_folder},
    state::cluster_folder,
};

const RUNS: &str = "runs";
const EXTENSION: &str = "jsonl";

#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    #[error("no folder for the runs of '{cluster}'")]
    Name {
        cluster: String,
        source: InvalidFolderName,
    },
    #[error(transparent)]
    ClusterFile(#[from] ClusterFileReadError),
    #[error(transparent)]
    Folder(#[from] CreateFolderError),
    #[error("cannot list {}", path.display())]
    List { path: PathBuf, source: io::Error },
    #[error(
        "no run of '{cluster}' is stored in {}: `prove` makes one, or name a run's file",
        path.display()
    )]
    NoRun { cluster: String, path: PathBuf },
    #[error("cannot read the run {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot use {}", path.display())]
    Parse { path: PathBuf, source: ReadRunError },
}

fn folder(cluster: &str) -> Result<PathBuf, RunsError> {
    let folder = cluster_folder(cluster).map_err(|source| RunsError::Name {
        cluster: cluster.to_owned(),
        source,
    })?;
    Ok(folder.join(RUNS))
}

/// Where the run that began at this moment (`2026-11-14T09:26:00Z`) is to be stored; no file is there yet, the folder is.
pub fn new_run_path(cluster: &str, started: &str) -> Result<PathBuf, RunsError> {
    new_path_in(&folder(cluster)?, started)
}

/// Of a cluster, the oldest first; none where nothing was stored.
pub fn runs(cluster: &str) -> Result<Vec<PathBuf>, RunsError> {
    runs_in(&folder(cluster)?)
}

/// The last one of a cluster.
pub fn newest_run(cluster: &str) -> Result<PathBuf, RunsError> {
    let folder = folder(cluster)?;
    runs_in(&folder)?.pop().ok_or_else(|| RunsError::NoRun {
        cluster: cluster.to_owned(),
        path: folder,
    })
}

fn new_path_in(folder: &Path, started: &str) -> Result<PathBuf, RunsError> {
    make_folder(folder)?;
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let stem: String = started.chars().map(plain).collect();
    let named = |stem: &str| folder.join(stem).with_extension(EXTENSION);
    let mut path = named(&stem);
    let mut number = 1;
    while path.exists() {
        number += 1;
        path = named(&format!("{stem}-{number}"));
    }
    Ok(path)
}

fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, RunsError> {
    let unlisted = |source| RunsError::List {
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unlisted)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(unlisted)?.path();
        if path.extension() == Some(OsStr::new(EXTENSION)) {
            found.push(path);
        }
    }
    // By the stem: `…Z-2` is later than `…Z`, and would be earlier with the extension.
    found.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    Ok(found)
}

/// The last one of the cluster that this cluster file describes, and that has a figure: one that was interrupted before its
/// first says nothing. Where none has, the last.
pub fn newest_run_of(cluster_file: &Path) -> Result<PathBuf, RunsError> {
    let spec = cluster_file::read(cluster_file)?;
    let runs = runs(&spec.name)?;
    match newest_measured(&runs) {
        Some(run) => Ok(run.clone()),
        None => newest_run(&spec.name),
    }
}

fn newest_measured(runs: &[PathBuf]) -> Option<&PathBuf> {
    let has_figure = |run: &StoredRun| {
        let mut measurements = run.measurements.iter();
        measurements.any(|one| matches!(one.outcome, MeasurementOutcome::Measured(_)))
    };
    let mut newest_first = runs.iter().rev();
    newest_first.find(|path| match read_run(path) {
        Ok(run) => has_figure(&run),
        // It is damaged: that is to be said.
        Err(_) => true,
    })
}

pub fn read_run(path: &Path) -> Result<StoredRun, RunsError> {
    let text = read_text(path).map_err(|source| RunsError::Read {
        path: path.to_owned(),
        source,
    })?;
    run::read(&text).map_err(|source| RunsError::Parse {
        path: path.to_owned(),
        source,
    })
}

/// No device, which never ends, and no pipe, which may never begin. What was torn inside of a letter is a torn line.
fn read_text(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let most = MAX_FILE_BYTES as u64;
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(most + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is larger than {most} bytes")));
    }
    String::from_utf8(bytes).or_else(|error| {
        let whole = error.utf8_error();
        let end = whole.valid_up_to();
        let mut bytes = error.into_bytes();
        if whole.error_len().is_some() {
            return Err(io::Error::other(format!("byte {end} is no text")));
        }
        bytes.truncate(end);
        String::from_utf8(bytes).map_err(io::Error::other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_in_the_order_of_their_times() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("sparks/runs");
        assert!(runs_in(&folder).unwrap().is_empty());
        let mut made = Vec::new();
        for started in [
            "2026-11-14T09:26:00Z",
            "2026-11-14T09:26:00Z",
            "2026-11-14T09:26:01Z",
        ] {
            let path = new_path_in(&folder, started).unwrap();
            fs::write(&path, "").unwrap();
            made.push(path);
        }
        fs::write(made[0].with_extension("partial"), "").unwrap();
        assert_eq!(runs_in(&folder).unwrap(), made);
        assert!(matches!(runs("../etc"), Err(RunsError::Name { .. })));
    }

    #[test]
    fn what_is_no_run_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        for (text, why) in [
            (&b"{}\n"[..], "not a run"),
            (b"", "nothing is in it"),
            (b"\xff\xfe\n", "is no text"),
        ] {
            fs::write(&path, text).unwrap();
            let error = read_run(&path).unwrap_err();
            let said = crate::chain_of(&error);
            assert!(said.contains(why) && said.contains("run.jsonl"), "{said}");
        }
        let error = read_run(Path::new("/dev/zero")).unwrap_err();
        assert!(crate::chain_of(&error).contains("no regular file"));
    }
}
