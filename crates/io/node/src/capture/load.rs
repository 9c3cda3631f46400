//! Finds the captures that a path stands for and reads them side by side.

use std::{
    ffi::CString,
    fs::File,
    io::BufReader,
    num::NonZeroUsize,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread,
};

use crosstie_facts::RawCapture;
use rustix::fs::{Dir, FileType};

use super::{
    CaptureLoadError, archive,
    build::CaptureBuilder,
    directory,
    limits::{CaptureLimit, MAX_ENTRIES},
};

/// One capture that a path led to, and how reading it went.
#[derive(Debug)]
pub struct LoadedCapture {
    pub path: PathBuf,
    pub raw: Result<RawCapture, CaptureLoadError>,
}

/// Reads a capture directory, a `.tar.gz` of one, or every one of either in a directory, in the order of their names.
///
/// An error is about the path itself; a capture that cannot be read has its own in [`LoadedCapture`].
pub fn load(path: &Path) -> Result<Vec<LoadedCapture>, CaptureLoadError> {
    let open_error = |source| CaptureLoadError::Open {
        path: path.to_owned(),
        source,
    };
    let is_directory = std::fs::metadata(path).map_err(open_error)?.is_dir();
    if !is_directory {
        let found = Found {
            path: path.to_owned(),
            kind: Kind::Named,
        };
        return Ok(read_all(None, vec![found]));
    }
    let handle = directory::open(path).map_err(open_error)?;
    if directory::is_capture(handle.as_fd()) {
        let raw = directory::load(
            handle.as_fd(),
            CaptureBuilder::new(&AtomicU64::new(0)),
            &stem(&path.canonicalize().unwrap_or_else(|_| path.to_owned())),
        );
        let path = path.to_owned();
        return Ok(vec![LoadedCapture { path, raw }]);
    }
    let found = find(&handle, path)?;
    if found.is_empty() {
        let path = path.to_owned();
        return Err(CaptureLoadError::NoCaptures { path });
    }
    Ok(read_all(Some(handle.as_fd()), found))
}

struct Found {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    /// The user's own path to an archive.
    Named,
    /// An archive, by its name in the directory.
    Archive(CString),
    /// A capture directory, by its name in the directory.
    Directory(CString),
}

/// The captures in a directory, sorted by name; whatever else lies there is left alone, links too.
fn find(handle: &OwnedFd, path: &Path) -> Result<Vec<Found>, CaptureLoadError> {
    let open_error = |error: rustix::io::Errno| CaptureLoadError::Open {
        path: path.to_owned(),
        source: error.into(),
    };
    let mut names = Vec::new();
    for entry in Dir::read_from(handle).map_err(open_error)? {
        names.push(CString::from(entry.map_err(open_error)?.file_name()));
        if names.len() > MAX_ENTRIES as usize {
            return Err(CaptureLimit::Entries.into());
        }
    }
    names.sort_unstable();
    let found = names.into_iter().filter_map(|name| {
        let path = path.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
        let kind = match directory::kind(handle.as_fd(), &name)? {
            FileType::RegularFile if is_archive(&path) => Kind::Archive(name),
            FileType::Directory if name.as_c_str() != c"." && name.as_c_str() != c".." => {
                let below = directory::open_below(handle.as_fd(), &name).ok()?;
                directory::is_capture(below.as_fd()).then_some(Kind::Directory(name))?
            }
            _ => return None,
        };
        Some(Found { path, kind })
    });
    Ok(found.collect())
}

/// By its name, as `--capture` decides too.
pub(super) fn is_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    name.ends_with(b".tar.gz") || name.ends_with(b".tgz")
}

fn read_all(handle: Option<BorrowedFd<'_>>, found: Vec<Found>) -> Vec<LoadedCapture> {
    let together = AtomicU64::new(0);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut loaded = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(capture) = found.get(index) else {
                return loaded;
            };
            loaded.push((index, read(handle, capture, &together)));
        }
    };
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut loaded = thread::scope(|scope| {
        let others: Vec<_> = (1..workers.min(found.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mut loaded = work();
        for other in others {
            match other.join() {
                Ok(part) => loaded.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        loaded
    });
    loaded.sort_unstable_by_key(|(index, _)| *index);
    loaded
        .into_iter()
        .zip(found)
        .map(|((_, raw), Found { path, .. })| LoadedCapture { path, raw })
        .collect()
}

fn read(
    handle: Option<BorrowedFd<'_>>,
    found: &Found,
    together: &AtomicU64,
) -> Result<RawCapture, CaptureLoadError> {
    let open_error = |source| CaptureLoadError::Open {
        path: found.path.clone(),
        source,
    };
    let builder = CaptureBuilder::new(together);
    let stem = stem(&found.path);
    let file = match (&found.kind, handle) {
        (Kind::Directory(name), Some(handle)) => {
            let below = directory::open_below(handle, name).map_err(open_error)?;
            return directory::load(below.as_fd(), builder, &stem);
        }
        (Kind::Archive(name), Some(handle)) => directory::open_file_below(handle, name),
        _ => directory::open_file(&found.path),
    };
    let (file, _) = file
        .map_err(|error| open_error(error.into()))?
        .ok_or(CaptureLoadError::NotACapture)?;
    let packed = BufReader::with_capacity(32 << 10, File::from(file));
    archive::load(packed, builder, &stem)
}

/// The name less what marks it as an archive.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name
        .strip_suffix(".tar.gz")
        .or_else(|| name.strip_suffix(".tgz"))
        .unwrap_or(&name);
    stem.to_owned()
}
