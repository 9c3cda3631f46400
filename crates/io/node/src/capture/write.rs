//! Puts a capture on disk: all of it, or nothing.

use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink},
    path::Path,
};

use crosstie_facts::{CaptureEntry, RawCapture, raw::EMPTY_FOLDER_FILE};
use rustix::fs::syncfs;

use super::{
    COMMANDS, CaptureWriteError, META, ROOT,
    limits::{CaptureLimit, MAX_ENTRIES, MAX_META, MAX_STORED, MAX_STREAM},
    load::is_archive,
    meta,
    pack::pack_into,
    partial::PartialFile,
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
    let meta = meta::render(raw);
    within_limits(raw, &meta)?;
    let partial = PartialFile::beside(path)?;
    let written = if is_archive(path) {
        write_archive(raw, partial.path())
    } else {
        write_directory(raw, &meta, partial.path()).map(|()| 0)
    };
    let length = written.map_err(|source| CaptureWriteError::Io {
        action: "write",
        path: path.to_owned(),
        source,
    })?;
    if length > MAX_STREAM {
        return Err(CaptureWriteError::TooLarge(CaptureLimit::Stream));
    }
    partial.publish()
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
fn write_archive(raw: &RawCapture, path: &Path) -> io::Result<u64> {
    let file = new_file(path)?;
    let (buffer, length) = pack_into(raw, BufWriter::new(file))?;
    buffer.into_inner()?.sync_all()?;
    Ok(length)
}

fn write_directory(raw: &RawCapture, meta: &str, top: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(top)?;
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
    // One flush of the file system instead of one for each of a thousand small files.
    Ok(syncfs(File::open(top)?)?)
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
    new_file(path)?.write_all(bytes)
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn new_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(path)
}
