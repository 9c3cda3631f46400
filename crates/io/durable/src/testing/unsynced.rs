//! What was written, renamed, made or removed, and not synced since: a power cut may take it back.

use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{names::rename_new, parent_folder, remove, remove_tree};

#[derive(Debug, Default)]
pub struct UnsyncedWrites(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Their bytes may become anything.
    files: BTreeSet<PathBuf>,
    /// Oldest first.
    names: Vec<NameChange>,
}

/// A change of the names in one folder.
#[derive(Debug)]
struct NameChange {
    folder: PathBuf,
    inverse: Inverse,
}

/// What a power cut makes of a change of names that was not synced.
#[derive(Debug)]
enum Inverse {
    Unname {
        from: PathBuf,
        to: PathBuf,
        before: Kept,
    },
    BringBack {
        path: PathBuf,
        kept: Kept,
    },
    RemoveFolder(PathBuf),
}

/// What had a name before.
#[derive(Debug)]
enum Kept {
    Nothing,
    File { bytes: Vec<u8>, mode: u32 },
    Link(PathBuf),
}

impl UnsyncedWrites {
    pub fn wrote(&self, path: &Path) {
        self.state().files.insert(path.to_owned());
    }

    pub fn synced(&self, path: &Path) {
        self.state().files.remove(path);
    }

    pub fn synced_folder(&self, folder: &Path) {
        self.state().names.retain(|change| change.folder != folder);
    }

    pub fn synced_tree(&self, folder: &Path) {
        let mut state = self.state();
        state.files.retain(|path| !path.starts_with(folder));
        let is_below = |change: &NameChange| change.folder.starts_with(folder);
        state.names.retain(|change| !is_below(change));
    }

    /// The promise of every atomic write: what gets a name is on the disk, and so is what it holds.
    ///
    /// # Panics
    ///
    /// Where that promise is broken.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.give_name(from, to, |from, to| fs::rename(from, to))
    }

    /// The same, where nothing is yet.
    ///
    /// # Panics
    ///
    /// Where that promise is broken.
    pub fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.give_name(from, to, rename_new)
    }

    fn give_name(
        &self,
        from: &Path,
        to: &Path,
        rename: impl FnOnce(&Path, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut state = self.state();
        let bytes = state.files.iter().find(|path| path.starts_with(from));
        assert!(
            bytes.is_none(),
            "{} has a name before its bytes",
            to.display()
        );
        let names = state
            .names
            .iter()
            .find(|name| name.folder.starts_with(from));
        assert!(
            names.is_none(),
            "{} has a name before what it holds",
            to.display()
        );
        let before = Kept::at(to)?;
        rename(from, to)?;
        let (from, to) = (from.to_owned(), to.to_owned());
        state.names.push(NameChange {
            folder: parent_folder(&to).to_owned(),
            inverse: Inverse::Unname { from, to, before },
        });
        Ok(())
    }

    pub fn remove_file(&self, path: &Path) -> io::Result<()> {
        let kept = Kept::at(path)?;
        fs::remove_file(path)?;
        let path = path.to_owned();
        self.state().names.push(NameChange {
            folder: parent_folder(&path).to_owned(),
            inverse: Inverse::BringBack { path, kept },
        });
        Ok(())
    }

    /// It was made a moment ago.
    pub fn made_folder(&self, path: &Path) {
        self.state().names.push(NameChange {
            folder: parent_folder(path).to_owned(),
            inverse: Inverse::RemoveFolder(path.to_owned()),
        });
    }

    /// Folders whose names a power cut may change.
    pub fn folders(&self) -> BTreeSet<PathBuf> {
        let state = self.state();
        state.names.iter().map(|name| name.folder.clone()).collect()
    }

    /// The kernel wrote them by itself, as it does after a while.
    pub fn keep_names(&self) {
        self.state().names.clear();
    }

    /// What was written and not synced is garbage.
    pub fn tear_files(&self) -> io::Result<()> {
        let files = std::mem::take(&mut self.state().files);
        let torn = files.iter().filter(|path| path.exists());
        torn.into_iter()
            .try_for_each(|path| fs::write(path, "\0\0"))
    }

    /// Names that were not synced are what they were.
    pub fn revert_names(&self) -> io::Result<()> {
        let names = std::mem::take(&mut self.state().names);
        let latest_first = names.into_iter().rev();
        latest_first
            .map(|name| name.inverse)
            .try_for_each(Inverse::apply)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inverse {
    fn apply(self) -> io::Result<()> {
        match self {
            Self::Unname { from, to, before } => {
                // Cleared away since, or renamed again.
                if fs::symlink_metadata(&to).is_ok() {
                    fs::rename(&to, from)?;
                }
                before.put(&to)
            }
            Self::BringBack { path, kept } => kept.put(&path),
            Self::RemoveFolder(path) => remove_tree(&path).map(drop),
        }
    }
}

impl Kept {
    fn at(path: &Path) -> io::Result<Self> {
        let status = match fs::symlink_metadata(path) {
            Ok(status) => status,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Nothing),
            Err(error) => return Err(error),
        };
        if status.is_symlink() {
            return fs::read_link(path).map(Self::Link);
        }
        if status.is_dir() {
            // Only an empty one can be renamed over.
            return Ok(Self::Nothing);
        }
        Ok(Self::File {
            bytes: fs::read(path)?,
            mode: status.mode() & 0o7777,
        })
    }

    fn put(self, path: &Path) -> io::Result<()> {
        remove(path)?;
        match self {
            Self::Nothing => Ok(()),
            Self::Link(target) => symlink(target, path),
            Self::File { bytes, mode } => {
                fs::write(path, bytes)?;
                fs::set_permissions(path, Permissions::from_mode(mode))
            }
        }
    }
}
