//! What the links of a snapshot are now, by index.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    kernel::KernelNetwork,
    link::{self, identity::counterpart},
    state::{NetworkState, SavedLink, SnapshotScope},
};
use crate::{boot_id, netlink::NetlinkError};

/// Which links a snapshot or a restore is about.
#[derive(Debug, Clone)]
pub(super) enum LinkCoverage {
    Everything,
    Indexes(BTreeSet<u32>),
}

impl LinkCoverage {
    pub(super) fn of(scope: &SnapshotScope, links: &[SavedLink]) -> Self {
        match scope {
            SnapshotScope::Everything => Self::Everything,
            SnapshotScope::Interfaces(names) => {
                let own = links.iter().filter(|link| names.contains(&link.name));
                Self::Indexes(own.map(|link| link.index).collect())
            }
        }
    }

    pub(super) fn is_everything(&self) -> bool {
        matches!(self, Self::Everything)
    }

    pub(super) fn covers(&self, index: u32) -> bool {
        match self {
            Self::Everything => true,
            Self::Indexes(indexes) => indexes.contains(&index),
        }
    }

    /// Whether any of them is covered; what has no link at all is only so with everything.
    pub(super) fn covers_any(&self, indexes: &[u32]) -> bool {
        self.is_everything() || indexes.iter().any(|index| self.covers(*index))
    }
}

pub(super) struct LinkMapping {
    pub(super) now: Vec<SavedLink>,
    /// The links of now that are covered.
    pub(super) coverage: LinkCoverage,
    /// From the index before to the one of now.
    indexes: BTreeMap<u32, u32>,
    names: BTreeMap<u32, String>,
}

/// A link of before that is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingLink(pub(super) String);

impl LinkMapping {
    pub(super) fn read(
        kernel: &mut KernelNetwork,
        before: &NetworkState,
    ) -> Result<Self, NetlinkError> {
        Ok(Self::new(before, link::read(kernel)?))
    }

    pub(super) fn new(before: &NetworkState, now: Vec<SavedLink>) -> Self {
        let links = before.links.as_deref().unwrap_or_default();
        let is_same_boot = before.boot == boot_id();
        let pairs = links.iter().filter_map(|old| {
            let found = counterpart(old, links, &now, is_same_boot)?;
            Some((old.index, found.index))
        });
        let indexes: BTreeMap<u32, u32> = pairs.collect();
        let coverage = match LinkCoverage::of(&before.scope, links) {
            LinkCoverage::Everything => LinkCoverage::Everything,
            LinkCoverage::Indexes(old) => {
                let found = old.iter().filter_map(|index| indexes.get(index).copied());
                LinkCoverage::Indexes(found.collect())
            }
        };
        let names = links.iter().map(|old| (old.index, old.name.clone()));
        Self {
            coverage,
            names: names.collect(),
            indexes,
            now,
        }
    }

    /// The index of now.
    pub(super) fn index(&self, before: u32) -> Result<u32, MissingLink> {
        let found = self.indexes.get(&before).copied();
        found.ok_or_else(|| MissingLink(self.name_before(before)))
    }

    pub(super) fn link(&self, before: u32) -> Result<&SavedLink, MissingLink> {
        let index = self.index(before)?;
        let found = self.now.iter().find(|link| link.index == index);
        found.ok_or_else(|| MissingLink(self.name_before(before)))
    }

    pub(super) fn name_before(&self, index: u32) -> String {
        let known = self.names.get(&index).cloned();
        known.unwrap_or_else(|| format!("interface {index}"))
    }

    pub(super) fn name_now(&self, index: u32) -> String {
        let found = self.now.iter().find(|link| link.index == index);
        found.map_or_else(|| format!("interface {index}"), |link| link.name.clone())
    }

    /// Whether a link of now was there before, under whatever name.
    pub(super) fn was_there(&self, index: u32) -> bool {
        self.indexes.values().any(|now| *now == index)
    }
}
