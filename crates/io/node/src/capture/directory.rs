//! A capture in a directory.
//!
//! Everything is opened by name under the handle of its directory and never through a symbolic link, so that even a
//! directory that changes while it is read leads nowhere else.

use std::{
    ffi::{CStr, CString},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use crosstie_facts::{
    CaptureEntry, RawCapture, ReadGap,
    raw::{MAX_DEPTH, MAX_PATH},
    source::MAX_FILE,
};
use rustix::{
    buffer::spare_capacity,
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};

use super::{
    COMMANDS, CaptureLoadError, META, ROOT,
    build::CaptureBuilder,
    limits::{CaptureLimit, MAX_META},
};

const OPEN_DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A FIFO, a terminal or a device that takes a file's place between listing and opening does not block.
const OPEN_FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens a directory that the user named; here alone links are followed, as the user may well have made one.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(fs::open(path, flags, Mode::empty())?)
}

pub(super) fn open_below(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    Ok(fs::openat(directory, name, OPEN_DIRECTORY, Mode::empty())?)
}

/// The same for a file.
pub(super) fn open_file(path: &Path) -> Result<Option<(OwnedFd, u64)>, Errno> {
    let flags = OPEN_FILE.difference(OFlags::NOFOLLOW);
    regular(fs::open(path, flags, Mode::empty())?)
}

/// Opens a regular file in a directory; `None` if it is anything else by now.
pub(super) fn open_file_below(
    directory: BorrowedFd<'_>,
    name: &CStr,
) -> Result<Option<(OwnedFd, u64)>, Errno> {
    regular(fs::openat(directory, name, OPEN_FILE, Mode::empty())?)
}

/// The file with its size, unless it is no regular file.
fn regular(file: OwnedFd) -> Result<Option<(OwnedFd, u64)>, Errno> {
    let status = fs::fstat(&file)?;
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    Ok(is_file.then(|| (file, u64::try_from(status.st_size).unwrap_or(0))))
}

/// What the directory entry is, links not followed.
pub(super) fn kind(directory: BorrowedFd<'_>, name: &CStr) -> Option<FileType> {
    let status = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(status.st_mode))
}

pub(super) fn is_capture(directory: BorrowedFd<'_>) -> bool {
    kind(directory, c"meta.toml") == Some(FileType::RegularFile)
        || [c"root", c"cmd"]
            .into_iter()
            .any(|name| kind(directory, name) == Some(FileType::Directory))
}

pub(super) fn load(
    directory: BorrowedFd<'_>,
    builder: CaptureBuilder<'_>,
    stem: &str,
) -> Result<RawCapture, CaptureLoadError> {
    let mut walk = Walk {
        builder,
        path: String::new(),
        depth: 0,
    };
    for (path, name) in [(META, c"meta.toml"), (ROOT, c"root"), (COMMANDS, c"cmd")] {
        if let Some(kind) = kind(directory, name) {
            path.clone_into(&mut walk.path);
            walk.visit(directory, name, kind)?;
        }
    }
    walk.builder.finish(stem)
}

struct Walk<'a> {
    builder: CaptureBuilder<'a>,
    /// From the capture's top to what is being visited.
    path: String,
    depth: usize,
}

impl Walk<'_> {
    fn visit(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
    ) -> Result<(), CaptureLimit> {
        let longest = if self.path == META {
            MAX_META
        } else {
            MAX_FILE
        };
        let entry = match kind {
            FileType::RegularFile => read_file(directory, name, longest),
            FileType::Symlink => read_link(directory, name),
            FileType::Directory => return self.descend(directory, name),
            _ => None,
        };
        entry.map_or(Ok(()), |entry| self.builder.add(&self.path, entry))
    }

    fn descend(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Result<(), CaptureLimit> {
        self.builder.add(&self.path, CaptureEntry::Directory)?;
        // One level for the capture's own `root`.
        if self.depth > MAX_DEPTH {
            return Ok(());
        }
        let directory = match open_below(parent, name).and_then(|fd| Ok(Dir::new(fd)?)) {
            Ok(directory) => directory,
            Err(error) => return self.note(&error),
        };
        self.depth += 1;
        let end = self.path.len();
        let result = self.visit_all(directory, end);
        self.path.truncate(end);
        self.depth -= 1;
        result
    }

    fn visit_all(&mut self, mut directory: Dir, end: usize) -> Result<(), CaptureLimit> {
        let mut names = Vec::new();
        for entry in &mut directory {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.note(&error.into()),
            };
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            self.builder.count()?;
            names.push((CString::from(name), entry.file_type()));
        }
        let handle = match directory.fd() {
            Ok(handle) => handle,
            Err(error) => return self.note(&error.into()),
        };
        for (name, file_type) in names {
            let Ok(text) = name.to_str() else {
                continue;
            };
            self.path.truncate(end);
            self.path.push('/');
            self.path.push_str(text);
            if self.path.len() > ROOT.len() + 1 + MAX_PATH {
                continue;
            }
            let file_type = match file_type {
                FileType::Unknown => kind(handle, &name).unwrap_or(FileType::Unknown),
                known => known,
            };
            self.visit(handle, &name, file_type)?;
        }
        Ok(())
    }

    /// A directory of the capture that cannot be listed is a gap in what it says.
    fn note(&mut self, error: &io::Error) -> Result<(), CaptureLimit> {
        let gap = gap(error);
        gap.map_or(Ok(()), |gap| {
            self.builder.add(&self.path, CaptureEntry::Gap(gap))
        })
    }
}

/// `None` if it has gone or became something else meanwhile.
fn gap(error: &io::Error) -> Option<ReadGap> {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => None,
        Some(Errno::ACCESS | Errno::PERM) => Some(ReadGap::Denied),
        _ => Some(ReadGap::Failed(error.to_string())),
    }
}

fn read_link(directory: BorrowedFd<'_>, name: &CStr) -> Option<CaptureEntry> {
    match fs::readlinkat(directory, name, Vec::new()) {
        Ok(target) => target.into_string().ok().map(CaptureEntry::Link),
        Err(error) => gap(&error.into()).map(CaptureEntry::Gap),
    }
}

fn read_file(directory: BorrowedFd<'_>, name: &CStr, longest: u64) -> Option<CaptureEntry> {
    match open_file_below(directory, name) {
        Ok(None) => None,
        Ok(Some((_, size))) if size > longest => Some(CaptureEntry::Gap(ReadGap::TooLarge)),
        Ok(Some((file, size))) => match read_all(file.as_fd(), size, longest) {
            Ok(Some(bytes)) => Some(CaptureEntry::File(bytes)),
            Ok(None) => Some(CaptureEntry::Gap(ReadGap::TooLarge)),
            Err(error) => Some(CaptureEntry::Gap(ReadGap::Failed(
                io::Error::from(error).to_string(),
            ))),
        },
        Err(error) => gap(&error.into()).map(CaptureEntry::Gap),
    }
}

/// `None` if it is longer than `longest` after all: `size` is what the file claimed when it was opened.
fn read_all(file: BorrowedFd<'_>, size: u64, longest: u64) -> Result<Option<Vec<u8>>, Errno> {
    let size = usize::try_from(size.min(longest)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size + 1);
    loop {
        if bytes.len() as u64 > longest {
            return Ok(None);
        }
        if bytes.len() == bytes.capacity() {
            bytes.reserve(bytes.len().max(4096));
        }
        let count = match rustix::io::read(file, spare_capacity(&mut bytes)) {
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        // As long as it claimed to be, with room to spare that was not used: that is its end.
        if count == 0 || (bytes.len() == size && bytes.capacity() > size) {
            return Ok(Some(bytes));
        }
    }
}
