//! What can go wrong between a capture and the disk.

use std::{io, path::PathBuf};

use super::{FORMAT, limits::CaptureLimit};

/// Why a capture was not read. The texts of all but `Open` and `NoCaptures` are about one capture and leave its path to
/// the caller, who has it in [`Loaded`](super::Loaded).
#[derive(Debug, thiserror::Error)]
pub enum CaptureLoadError {
    #[error("cannot read {}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error(
        "no capture in {}: neither it nor an entry of it is a capture directory or a .tar.gz of one",
        path.display()
    )]
    NoCaptures { path: PathBuf },
    #[error("not a capture: no meta.toml, root/ or cmd/ at its top or in a single folder there")]
    NotACapture,
    #[error(
        "more than one capture in one archive (in {first:?} and {second:?}): unpack it and pass the directory"
    )]
    Several { first: String, second: String },
    #[error("not a whole gzip archive, so truncated, damaged or not a .tar.gz: fetch it again")]
    Gzip(#[source] io::Error),
    #[error(
        "damaged tar archive: {what} at byte {position} of the decompressed data: fetch it again"
    )]
    Tar { what: &'static str, position: u64 },
    #[error("the archive holds a sparse file: pack the capture again without tar's --sparse")]
    Sparse,
    #[error("meta.toml is not valid")]
    Meta(#[source] Box<toml::de::Error>),
    #[error("meta.toml is not text in UTF-8")]
    MetaText,
    #[error(
        "capture of format {found}; this build reads format {FORMAT}: use the release of crosstie that wrote it, or a newer one"
    )]
    Format { found: String },
    #[error("gave up on the capture, which has {0}")]
    Limit(CaptureLimit),
}

impl From<CaptureLimit> for CaptureLoadError {
    fn from(limit: CaptureLimit) -> Self {
        Self::Limit(limit)
    }
}

/// Why a capture was not written. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum CaptureWriteError {
    #[error("{} is there already: choose another name or remove it", path.display())]
    Exists { path: PathBuf },
    #[error("{} does not name a file or directory that can be made", path.display())]
    Name { path: PathBuf },
    #[error("the capture could not be loaded again, as it has {0}")]
    TooLarge(CaptureLimit),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}
