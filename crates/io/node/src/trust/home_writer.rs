//! Changes things, or says what it would change.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crosstie_durable::{RealDisk, remove_synced};

use super::{
    HomeFolder, HomeTrustError, TrustChange,
    files::{self, HomeFile},
};

pub(super) struct HomeWriter<'a> {
    pub(super) home: &'a HomeFolder,
    pub(super) dry_run: bool,
    pub(super) changed: Vec<TrustChange>,
}

impl<'a> HomeWriter<'a> {
    pub(super) fn new(home: &'a HomeFolder, dry_run: bool) -> Self {
        Self {
            home,
            dry_run,
            changed: Vec::new(),
        }
    }

    pub(super) fn note(&mut self, path: &Path, what: impl Into<String>) {
        let (path, what) = (self.home.shown(path), what.into());
        self.changed.push(TrustChange { path, what });
    }

    /// Unless it is so already. Whoever calls has noted what it means.
    pub(super) fn write(
        &mut self,
        path: &Path,
        found: Option<&HomeFile>,
        text: &[u8],
    ) -> Result<(), HomeTrustError> {
        if self.dry_run || found.is_some_and(|found| found.text == text) {
            return Ok(());
        }
        files::write(path, found, text)
    }

    pub(super) fn set_mode(
        &mut self,
        path: &Path,
        before: u32,
        after: u32,
    ) -> Result<(), HomeTrustError> {
        self.note(path, format!("mode {before:o} → {after:o}"));
        if self.dry_run {
            return Ok(());
        }
        let mode = fs::Permissions::from_mode(after);
        fs::set_permissions(path, mode).map_err(HomeTrustError::io("change the mode of", path))
    }

    /// One that cannot be removed is in nobody's way. After a power cut, too, what was removed before another file is gone if
    /// that one is: the journal goes last.
    pub(super) fn remove_file(&mut self, path: &Path, what: &str) {
        let there = fs::symlink_metadata(path).is_ok();
        if there && (self.dry_run || remove_synced(&RealDisk, path).is_ok()) {
            self.note(path, what);
        }
    }

    /// If it is empty, or would be.
    pub(super) fn remove_folder(&mut self, path: &Path) -> bool {
        let gone = if self.dry_run {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let mut shown = entries.map(|entry| self.home.shown(&entry.path()));
            shown.all(|entry| self.changed.iter().any(|change| change.path == entry))
        } else {
            fs::remove_dir(path).is_ok()
        };
        if gone {
            self.note(path, "removed");
        }
        gone
    }
}
