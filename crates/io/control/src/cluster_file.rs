//! The cluster file on disk: read whole, replaced whole.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crosstie_model::{ClusterSpec, spec::SpecError};
use crosstie_report::cluster_file::{self, ExistingClusterFile};

/// Where it is, unless one is named.
pub const CLUSTER_FILE: &str = "cluster.toml";

/// A thousand nodes take a tenth of it.
const MAX_FILE: u64 = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ClusterFileReadError {
    #[error("there is no cluster file {}: `crosstie init NODE…` writes one", path.display())]
    Missing { path: PathBuf },
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
        source: Box<cluster_file::ClusterFileEditError>,
    },
}

pub(crate) fn read(path: &Path) -> Result<ClusterSpec, ClusterFileReadError> {
    let text = read_text(path).map_err(|source| unread(path, source))?;
    ClusterSpec::from_toml(&text).map_err(|source| ClusterFileReadError::Parse {
        path: path.to_owned(),
        source: source.into(),
    })
}

/// One to be added to. `None` is no file; one that cannot be understood is an error, and stays as it is.
pub fn read_existing(path: &Path) -> Result<Option<ExistingClusterFile>, ClusterFileReadError> {
    match read_text(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(unread(path, source)),
        Ok(text) => ExistingClusterFile::read(text)
            .map(Some)
            .map_err(merging(path)),
    }
}

pub(crate) fn merging(
    path: &Path,
) -> impl FnOnce(cluster_file::ClusterFileEditError) -> ClusterFileReadError {
    let path = path.to_owned();
    |source| ClusterFileReadError::Merge {
        path,
        source: source.into(),
    }
}

/// Of a file that a person could have written: no device, which never ends, and no pipe, which may never begin.
fn read_text(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    fs::File::open(path)?
        .take(MAX_FILE + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other("it is larger than 4 MiB"));
    }
    Ok(text)
}

fn unread(path: &Path, source: io::Error) -> ClusterFileReadError {
    let path = path.to_owned();
    if source.kind() == io::ErrorKind::NotFound {
        return ClusterFileReadError::Missing { path };
    }
    ClusterFileReadError::Read { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read() {
        for (path, why) in [
            ("/dev/zero", "no regular file"),
            ("/proc", "no regular file"),
        ] {
            let error = read_existing(Path::new(path)).err().unwrap();
            let text = crate::chain_of(&error);
            assert!(text.contains(why), "{path}: {text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large");
        fs::write(&large, vec![b'#'; 5 << 20]).unwrap();
        let error = read(&large).unwrap_err();
        assert!(crate::chain_of(&error).contains("larger than 4 MiB"));
    }
}
