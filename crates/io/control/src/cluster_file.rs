//! The cluster file on disk: read whole, replaced whole.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crosstie_model::{Spec, spec::SpecError};
use crosstie_report::cluster_file::{self, Existing};

/// Where it is, unless one is named.
pub const CLUSTER_FILE: &str = "cluster.toml";

#[derive(Debug, thiserror::Error)]
pub enum ClusterFileError {
    #[error("cannot read the cluster file {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot use {}", path.display())]
    Parse {
        path: PathBuf,
        source: Box<SpecError>,
    },
    #[error("cannot use {}", path.display())]
    Merge {
        path: PathBuf,
        source: Box<cluster_file::ClusterFileError>,
    },
}

pub(crate) fn read(path: &Path) -> Result<Spec, ClusterFileError> {
    let text = fs::read_to_string(path).map_err(|source| unread(path, source))?;
    Spec::from_toml(&text).map_err(|source| ClusterFileError::Parse {
        path: path.to_owned(),
        source: source.into(),
    })
}

/// One to be added to. `None` is no file; one that cannot be understood is an error, and stays as it is.
pub fn read_existing(path: &Path) -> Result<Option<Existing>, ClusterFileError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(unread(path, source)),
        Ok(text) => Existing::read(text).map(Some).map_err(merging(path)),
    }
}

pub(crate) fn merging(
    path: &Path,
) -> impl FnOnce(cluster_file::ClusterFileError) -> ClusterFileError {
    let path = path.to_owned();
    |source| ClusterFileError::Merge {
        path,
        source: source.into(),
    }
}

fn unread(path: &Path, source: io::Error) -> ClusterFileError {
    let path = path.to_owned();
    ClusterFileError::Read { path, source }
}
