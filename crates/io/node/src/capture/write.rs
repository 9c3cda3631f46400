//! Puts a capture on disk: all of it, or nothing.

use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink},
    path::Path,
};

use crosstie_durable::{self as durable, AtomicWrite, RealDisk};
use crosstie_facts::{CaptureEntry, RawCapture, raw::EMPTY_FOLDER_FILE};

use super::{
    COMMANDS, CaptureWriteError, META, ROOT,
    limits::{CaptureLimit, MAX_ENTRIES, MAX_META, MAX_STORED, MAX_STREAM},
    load::is_archive,
    meta,
    pack::pack_into,
};

/// Writes a capture to a path where nothing is yet: packed if it ends in `.tar.gz` or `.tgz`, else as a directory. Only
/// its owner may read it.
///
/// An entry below a file or a link has no place in a file system: a directory leaves it out, an archive keeps it.
pub fn write(raw: &RawCapture, path: &Path) -> Result<(), CaptureWriteError> {
    if fs::symlink_metadata(path).is_ok() {
        let path = path.to_owned();
        return Err(CaptureWriteError::Exists { path });
    }
    if path.file_name().is_none() {
        let path = path.to_owned();
        return Err(CaptureWriteError::Name { path });
    }
    let meta = meta::render(raw);
    within_limits(raw, &meta)?;
    let mut length = 0;
    let written = if is_archive(path) {
        let new = AtomicWrite::new(path, 0o600)
            .via_unique_temporary()
            .without_replacing();
        new.write_with(&RealDisk, |file| {
            length = write_archive(raw, file)?;
            if length > MAX_STREAM {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(())
        })
    } else {
        durable::new_private_folder(&RealDisk, path, |top| write_directory(raw, &meta, top))
    };
    written.map_err(|source| {
        let path = path.to_owned();
        if length > MAX_STREAM {
            CaptureWriteError::TooLarge(CaptureLimit::Stream)
        } else if source.kind() == io::ErrorKind::AlreadyExists {
            // It came to be there meanwhile.
            CaptureWriteError::Exists { path }
        } else {
            CaptureWriteError::Write { path, source }
        }
    })
}

/// Refuses what could not be loaded again.
fn within_limits(raw: &RawCapture, meta: &str) -> Result<(), CaptureWriteError> {
    let mut entries = 0;
    let mut stored = meta.len();
    for (path, entry) in raw.tree().chain(raw.commands()) {
        let content = match entry {
            CaptureEntry::File(bytes) => bytes.len(),
            CaptureEntry::Link(target) => target.len(),
            CaptureEntry::Directory | CaptureEntry::Gap(_) => EMPTY_FOLDER_FILE.len(),
        };
        entries += 1;
        stored += ROOT.len() + 1 + path.len() + content;
    }
    let limit = if entries >= MAX_ENTRIES {
        CaptureLimit::Entries
    } else if stored as u64 > MAX_STORED {
        CaptureLimit::Stored
    } else if meta.len() as u64 > MAX_META {
        CaptureLimit::Meta
    } else {
        return Ok(());
    };
    Err(CaptureWriteError::TooLarge(limit))
}

/// The length of the stream before compression.
fn write_archive(raw: &RawCapture, file: &mut File) -> io::Result<u64> {
    let (buffer, length) = pack_into(raw, BufWriter::new(file))?;
    buffer.into_inner()?;
    Ok(length)
}

fn write_directory(raw: &RawCapture, meta: &str, top: &Path) -> io::Result<()> {
    write_file(&top.join(META), meta.as_bytes())?;
    let root = top.join(ROOT);
    let commands = top.join(COMMANDS);
    new_directories(&root)?;
    new_directories(&commands)?;
    for (name, entry) in raw.commands() {
        write_entry(&commands.join(name), entry)?;
    }
    let leaves: HashSet<&str> = raw
        .tree()
        .filter(|(_, entry)| matches!(entry, CaptureEntry::File(_) | CaptureEntry::Link(_)))
        .map(|(path, _)| path)
        .collect();
    for (path, entry) in raw.tree() {
        // Above all, nothing is written through a link, which may lead out of the capture.
        if !ancestors(path).any(|above| leaves.contains(above)) {
            write_entry(&root.join(path), entry)?;
        }
    }
    Ok(())
}

fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

fn write_entry(path: &Path, entry: &CaptureEntry) -> io::Result<()> {
    if let (Some(parent), false) = (path.parent(), matches!(entry, CaptureEntry::Gap(_))) {
        new_directories(parent)?;
    }
    match entry {
        CaptureEntry::File(bytes) => write_file(path, bytes),
        CaptureEntry::Link(target) => symlink(target, path),
        CaptureEntry::Directory => {
            new_directories(path)?;
            write_file(&path.join(EMPTY_FOLDER_FILE), &[])
        }
        // Stands in meta.toml.
        CaptureEntry::Gap(_) => Ok(()),
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)
}

fn new_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(path)
}
