//! Loading the stand-in in a test, and telling it what to do.

use std::{
    ffi::{CString, c_char},
    io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// The name that cargo gives the library.
const FILE: &str = "libcrosstie_verbs_stand_in.so";

type Inject = unsafe extern "C" fn(*const c_char) -> i32;
type Raise = extern "C" fn(u32, u32) -> i32;
type Live = extern "C" fn() -> usize;

/// A copy of the stand-in, with faults and queue pairs of its own.
#[derive(Debug)]
pub struct VerbsStandIn {
    path: PathBuf,
    control: libloading::Library,
    _folder: TempDir,
}

impl VerbsStandIn {
    /// Cargo puts the library beside the test program that depends on this crate.
    pub fn new() -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let built = program.with_file_name(FILE);
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("libibverbs.so.1");
        std::fs::copy(built, &path)?;
        Ok(Self {
            control: load(&path)?,
            path,
            _folder: folder,
        })
    }

    /// Where to load it from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the fault could be read; see [`faults`](crate::faults).
    pub fn inject(&self, fault: &str) -> bool {
        let Ok(text) = CString::new(fault) else {
            return false;
        };
        // SAFETY: the function's own type, and a string.
        let code = unsafe {
            let inject = self.control.get::<Inject>(b"stand_in_inject");
            inject.map(|inject| inject(text.as_ptr()))
        };
        code.is_ok_and(|code| code == 0)
    }

    /// Has a device tell of an event; whether there is a queue pair of that number, if it is one of a queue pair's.
    pub fn raise(&self, event: u32, number: u32) -> bool {
        // SAFETY: the function's own type.
        let raise = unsafe { self.control.get::<Raise>(b"stand_in_raise") };
        raise.is_ok_and(|raise| raise(event, number) == 0)
    }

    /// Objects that were made and not destroyed.
    pub fn live(&self) -> Option<usize> {
        // SAFETY: the function's own type.
        let live = unsafe { self.control.get::<Live>(b"stand_in_live") };
        live.ok().map(|live| live())
    }

    /// Leaves the library loaded, so that what its statics hold is not taken for lost.
    pub fn keep_loaded(&self) -> io::Result<()> {
        std::mem::forget(load(&self.path)?);
        Ok(())
    }
}

fn load(path: &Path) -> io::Result<libloading::Library> {
    // SAFETY: the stand-in has no initialisers beyond Rust's own.
    unsafe { libloading::Library::new(path) }.map_err(io::Error::other)
}
