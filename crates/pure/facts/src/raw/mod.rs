//! A capture in memory: the parts of a node's file tree and the command outputs that facts are parsed from.

mod lookup;
mod path;

use std::collections::BTreeMap;

pub use path::clean;
pub(crate) use path::resolve;

/// A node's text, as it was read. Untrusted: it may come from a stranger's archive.
///
/// The tree never points out of itself: links are followed by name inside the map, so there is nothing outside to
/// reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Raw {
    pub meta: Meta,
    /// `sys/class/net/eth0` → entry. Parent directories need no entry of their own.
    tree: BTreeMap<String, Entry>,
    /// `ip-addr.json` → what the command printed.
    commands: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    pub host: String,
    /// RFC 3339, UTC; empty when unknown.
    pub captured: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File(Vec<u8>),
    /// The target as written, relative or absolute.
    Link(String),
    /// A directory worth recording though nothing in it is.
    Directory,
    /// It was wanted and could not be read.
    Gap(Gap),
}

/// Why something was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Gap {
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

impl Raw {
    pub fn new(meta: Meta) -> Self {
        Self {
            meta,
            ..Self::default()
        }
    }

    /// Puts an entry into the tree. A path that is not clean (see [`clean`]) is dropped: nothing could look it up.
    pub fn insert(&mut self, path: &str, entry: Entry) {
        if let Some(path) = clean(path) {
            self.tree.insert(path, entry);
        }
    }

    pub fn insert_command(&mut self, name: &str, entry: Entry) {
        self.commands.insert(name.to_owned(), entry);
    }

    pub fn tree(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.tree.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    pub fn commands(&self) -> impl Iterator<Item = (&str, &Entry)> {
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
