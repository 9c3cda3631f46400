//! What did not work, and where.

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

/// What was tried stands in the error around it.
#[derive(Debug, Error)]
#[error("{}", path.display())]
pub struct PathError {
    pub path: PathBuf,
    pub source: io::Error,
}

impl PathError {
    pub fn at(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self {
            path: path.clone(),
            source,
        }
    }
}
