//! A capture in memory: the parts of a node's file tree and the command outputs that facts are parsed from.

mod lookup;
mod path;

use std::{collections::BTreeMap, ops::Bound};

pub(crate) use path::resolve;
pub use path::{EMPTY_FOLDER_FILE, MAX_DEPTH, MAX_NAME, MAX_PATH, MAX_TARGET, clean};

use crate::source::MAX_FILE;

/// A node's text, as it was read. Untrusted: it may come from a stranger's archive.
///
/// The tree never points out of itself: links are followed by name inside the map, so there is nothing outside to
/// reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawCapture {
    pub meta: CaptureMeta,
    /// `sys/class/net/eth0` → entry. Parent directories need no entry of their own.
    tree: BTreeMap<String, CaptureEntry>,
    /// `ip-addr.json` → what the command printed.
    commands: BTreeMap<String, CaptureEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureMeta {
    pub host: String,
    /// RFC 3339, UTC; empty when unknown.
    pub captured: String,
    /// Root was asked for and not given, and why: some of what is missing is missing for that.
    pub root_refused: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureEntry {
    File(Vec<u8>),
    /// The target as written, relative or absolute.
    Link(String),
    /// A directory worth recording though nothing in it is.
    Directory,
    /// It was wanted and could not be read.
    Gap(ReadGap),
}

/// Why something was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadGap {
    #[error("not there")]
    Absent,
    #[error("permission denied")]
    Denied,
    #[error("larger than this tool reads")]
    TooLarge,
    /// The kernel or the command refused: an errno's text, a deadline, an exit status.
    #[error("{0}")]
    Failed(String),
}

impl RawCapture {
    pub fn new(meta: CaptureMeta) -> Self {
        Self {
            meta,
            ..Self::default()
        }
    }

    /// Puts an entry into the tree. What no capture on disk could hold is dropped: a path that is not clean (see
    /// [`clean`]), too long, too deep or called [`KEEP`], and a link whose target is empty, overlong or holds a NUL. A
    /// file longer than [`MAX_FILE`] turns into [`ReadGap::TooLarge`].
    ///
    /// Entries below a file or a link are kept, unlike on a file system; a capture in a directory leaves them out.
    pub fn insert(&mut self, path: &str, entry: CaptureEntry) {
        if let (Some(path), Some(entry)) = (clean(path), keepable(entry))
            && path::fits(&path)
        {
            self.tree.insert(path, entry);
        }
    }

    /// Puts a command's output in, on the terms of [`RawCapture::insert`]; the name is a single component.
    pub fn insert_command(&mut self, name: &str, entry: CaptureEntry) {
        let is_name = !name.contains('/') && clean(name).is_some_and(|name| path::fits(&name));
        if let Some(entry) = keepable(entry)
            && is_name
        {
            self.commands.insert(name.to_owned(), entry);
        }
    }

    /// The entry at exactly this path, links not followed.
    pub fn entry(&self, path: &str) -> Option<&CaptureEntry> {
        self.tree.get(path)
    }

    pub fn command_entry(&self, name: &str) -> Option<&CaptureEntry> {
        self.commands.get(name)
    }

    /// Whether the tree has an entry at this clean path or below it. No links are followed.
    pub fn holds(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.tree.contains_key(path)
            || self
                .tree
                .range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded))
                .next()
                .is_some_and(|(next, _)| next.starts_with(&below))
    }

    pub fn tree(&self) -> impl Iterator<Item = (&str, &CaptureEntry)> {
        self.tree.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    pub fn commands(&self) -> impl Iterator<Item = (&str, &CaptureEntry)> {
        self.commands
            .iter()
            .map(|(name, entry)| (name.as_str(), entry))
    }

    /// Takes over everything that `other` holds; its entries win.
    pub fn merge(&mut self, other: Self) {
        self.tree.extend(other.tree);
        self.commands.extend(other.commands);
    }
}

fn keepable(entry: CaptureEntry) -> Option<CaptureEntry> {
    match entry {
        CaptureEntry::File(bytes) if bytes.len() as u64 > MAX_FILE => {
            Some(CaptureEntry::Gap(ReadGap::TooLarge))
        }
        CaptureEntry::Link(target)
            if target.is_empty() || target.len() > MAX_TARGET || target.contains('\0') =>
        {
            None
        }
        entry => Some(entry),
    }
}
