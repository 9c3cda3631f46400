//! Files as they should be.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{
    Facts,
    managed::{BlockPlace, seal},
    plan::{FileChange, FileMode, ValueChange},
};

use crate::renderer;

/// Files that the same ones read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReloadGroup {
    /// Read when they are needed.
    Plain,
    /// Read by systemd.
    Units,
    /// Read by network managers.
    Network,
}

impl ReloadGroup {
    fn of(path: &str) -> Self {
        if renderer::mode_of(path).is_some() {
            Self::Network
        } else if path.starts_with("/etc/systemd/") {
            Self::Units
        } else {
            Self::Plain
        }
    }
}

#[derive(Default)]
pub(super) struct DesiredFiles {
    files: BTreeMap<String, (FileMode, String)>,
    blocks: BTreeMap<&'static str, (BlockPlace, String)>,
}

/// Where we have a block, and where it goes.
const SHARED: [(&str, BlockPlace); 2] = [
    (crate::files::paths::HOSTS, BlockPlace::End),
    (crate::files::paths::NCCL, BlockPlace::Top),
];

impl DesiredFiles {
    pub(super) fn file(&mut self, path: &str, mode: FileMode, body: &str) {
        self.files.insert(path.to_owned(), (mode, seal(body)));
    }

    pub(super) fn block(&mut self, path: &'static str, place: BlockPlace, body: String) {
        if !body.is_empty() {
            self.blocks.insert(path, (place, body));
        }
    }

    pub(super) fn paths(&self) -> BTreeSet<&str> {
        self.files.keys().map(String::as_str).collect()
    }

    /// What differs, files that are no longer wanted too.
    pub(super) fn changes(&self, facts: &Facts, group: ReloadGroup) -> Vec<FileChange> {
        let there = &facts.managed.files;
        let paths: BTreeSet<&String> = there.keys().chain(self.files.keys()).collect();
        let files = paths
            .into_iter()
            .filter(|path| ReloadGroup::of(path) == group);
        let files = files.filter_map(|path| {
            let wanted = self.files.get(path);
            // A file that goes is private from then on.
            let mode = wanted.map_or_else(|| mode_of(path), |(mode, _)| *mode);
            let to = wanted.map(|(_, text)| text.clone());
            Some(FileChange::Whole {
                path: path.clone(),
                mode,
                text: ValueChange::between(there.get(path).cloned(), to)?,
            })
        });
        let shared = SHARED.iter().filter(|_| group == ReloadGroup::Plain);
        let blocks = shared.filter_map(|(path, place)| {
            let to = self.blocks.get(path).map(|(_, body)| body.clone());
            Some(FileChange::Block {
                path: (*path).to_owned(),
                place: *place,
                text: ValueChange::between(facts.managed.blocks.get(*path).cloned(), to)?,
            })
        });
        files.chain(blocks).collect()
    }
}

/// What mode a file of ours has at this path.
pub(crate) fn mode_of(path: &str) -> FileMode {
    renderer::mode_of(path).unwrap_or(FileMode::Public)
}
