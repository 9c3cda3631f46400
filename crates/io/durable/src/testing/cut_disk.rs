//! Work that is cut off at each of its calls to the disk, in each way.

use std::{
    fmt,
    fs::File,
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::UnsyncedWrites;
use crate::{FileOperations, RealDisk};

/// How work is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The process dies; the machine goes on.
    Killed,
    /// Names that were not synced are what they were, and files that were not synced hold garbage.
    PowerLost,
    /// Files that were not synced hold garbage; their names reached the disk.
    TornWrite,
}

const CUTS: [Cut; 3] = [Cut::Killed, Cut::PowerLost, Cut::TornWrite];

/// Where work was cut off, and how: for what a test says.
#[derive(Debug, Clone)]
pub struct CrashPoint {
    cut: Cut,
    number: usize,
    before: &'static str,
    /// The work had said that it was done.
    pub is_done: bool,
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cut,
            number,
            before,
            ..
        } = self;
        write!(formatter, "{cut:?} at {number}, {before}")
    }
}

/// A disk at which work dies before its call with a number, or at the edge that has it.
#[derive(Debug)]
pub struct CrashTestDisk {
    dies_at: usize,
    passed: Mutex<Vec<&'static str>>,
    unsynced: UnsyncedWrites,
}

/// Unwinds from where the work died.
struct Died;

/// Each time anew: `prepare` makes what there is, `work` changes it and dies at one place or gets through, and `check` looks at
/// what is left. Work that got through is cut off, too: a moment later.
pub fn at_every_cut<T>(
    prepare: impl Fn() -> T,
    work: impl Fn(&CrashTestDisk, &T) -> io::Result<()>,
    check: impl Fn(&T, &CrashPoint),
) -> io::Result<()> {
    for number in 1.. {
        let mut is_done = false;
        for cut in CUTS {
            let prepared = prepare();
            let disk = CrashTestDisk::dying_at(number);
            is_done = gets_through(|| work(&disk, &prepared))?;
            disk.cut(cut)?;
            let before = disk.passed().get(number - 1).copied().unwrap_or("done");
            let place = CrashPoint {
                cut,
                number,
                before,
                is_done,
            };
            check(&prepared, &place);
        }
        if is_done {
            break;
        }
    }
    Ok(())
}

fn gets_through(work: impl FnOnce() -> io::Result<()>) -> io::Result<bool> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(worked) => worked.map(|()| true),
        Err(payload) if payload.is::<Died>() => Ok(false),
        Err(payload) => resume_unwind(payload),
    }
}

impl CrashTestDisk {
    fn dying_at(number: usize) -> Self {
        Self {
            dies_at: number,
            passed: Mutex::default(),
            unsynced: UnsyncedWrites::default(),
        }
    }

    fn cut(&self, cut: Cut) -> io::Result<()> {
        match cut {
            Cut::Killed => Ok(()),
            Cut::TornWrite => self.unsynced.tear_files(),
            Cut::PowerLost => {
                self.unsynced.tear_files()?;
                self.unsynced.revert_names()
            }
        }
    }

    fn passed(&self) -> MutexGuard<'_, Vec<&'static str>> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self, place: &'static str) {
        let number = {
            let mut passed = self.passed();
            passed.push(place);
            passed.len()
        };
        if number == self.dies_at {
            resume_unwind(Box::new(Died));
        }
    }
}

impl FileOperations for CrashTestDisk {
    fn wrote(&self, path: &Path) {
        self.unsynced.wrote(path);
        self.pass("before a file is written");
    }

    fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        self.pass("before a file is synced");
        self.unsynced.synced(path);
        RealDisk.sync(file, path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass("before a name is given");
        self.unsynced.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass("before a new name is given");
        self.unsynced.rename_new(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.pass("before a name is removed");
        self.unsynced.remove_file(path)
    }

    fn create_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.pass("before a folder is made");
        RealDisk.create_folder(path, mode)?;
        self.unsynced.made_folder(path);
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.pass("before a folder is synced");
        self.unsynced.synced_folder(folder);
        RealDisk.sync_folder(folder)
    }

    fn sync_tree(&self, folder: &Path) -> io::Result<()> {
        self.pass("before a tree is synced");
        self.unsynced.synced_tree(folder);
        RealDisk.sync_tree(folder)
    }

    fn edge(&self, name: &'static str) {
        self.pass(name);
    }
}
