//! Folders that a trial may change: what is in them, and how they were.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::Path,
};

use crosstie_durable::parent_folder;
use serde::{Deserialize, Serialize};

use super::system_access::SystemAccess;

/// A folder as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FolderImage {
    pub(super) path: String,
    mode: u32,
    user: u32,
    group: u32,
}

/// What lies below a path, at any depth.
#[derive(Debug, Default)]
pub(super) struct FolderContents {
    /// Plain files and links.
    pub(super) files: Vec<String>,
    /// The path itself first, if it is a folder; each before what it holds.
    pub(super) folders: Vec<String>,
}

impl FolderContents {
    /// Stops once there are more than `most` entries. A path that is a file is all that there is.
    pub(super) fn of(system: &dyn SystemAccess, path: &str, most: usize) -> Self {
        let mut below = Self::default();
        below.add(system, path.trim_end_matches('/'), most);
        below
    }

    fn add(&mut self, system: &dyn SystemAccess, path: &str, most: usize) {
        if self.count() > most {
            return;
        }
        let place = system.path(if path.is_empty() { "/" } else { path });
        let Ok(status) = fs::symlink_metadata(&place) else {
            return;
        };
        if status.is_file() || status.is_symlink() {
            self.files.push(path.to_owned());
        } else if status.is_dir() {
            self.folders.push(path.to_owned());
            let entries = fs::read_dir(place).into_iter().flatten().flatten();
            for name in entries.filter_map(|entry| entry.file_name().into_string().ok()) {
                self.add(system, &format!("{path}/{name}"), most);
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.files.len() + self.folders.len()
    }
}

impl FolderImage {
    pub(super) fn of(system: &dyn SystemAccess, path: &str) -> io::Result<Self> {
        let status = fs::symlink_metadata(system.path(path))?;
        if !status.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            path: path.to_owned(),
            mode: status.mode() & 0o7777,
            user: status.uid(),
            group: status.gid(),
        })
    }

    pub(super) fn is_there(&self, system: &dyn SystemAccess) -> bool {
        Self::of(system, &self.path).is_ok()
    }

    pub(super) fn is_as_it_was(&self, system: &dyn SystemAccess) -> bool {
        Self::of(system, &self.path).is_ok_and(|now| now == *self)
    }

    /// It is there again, with its owner and mode. What stands in its place is an error.
    pub(super) fn restore(&self, system: &dyn SystemAccess) -> io::Result<()> {
        let place = system.path(&self.path);
        match system.create_folder(&place, self.mode) {
            Ok(()) => system.sync_folder(parent_folder(&place))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        if Self::of(system, &self.path)? == *self {
            return Ok(());
        }
        chown(&place, Some(self.user), Some(self.group))?;
        fs::set_permissions(&place, fs::Permissions::from_mode(self.mode))
    }
}

/// Where a link leads, as the node names it; `None` if it leads nowhere.
pub(super) fn target(system: &dyn SystemAccess, link: &str) -> Option<String> {
    let root = fs::canonicalize(system.path("/")).ok()?;
    let target = fs::canonicalize(system.path(link)).ok()?;
    let inside = target.strip_prefix(root).ok()?;
    Path::new("/")
        .join(inside)
        .into_os_string()
        .into_string()
        .ok()
}
