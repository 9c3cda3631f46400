//! The calls by which a write reaches the disk. Tests stand in between, and die there.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
};

use crate::names;

pub trait FileOperations {
    /// A file has bytes that a power cut may take. (Only tests want to know.)
    fn wrote(&self, _path: &Path) {}

    /// The bytes of a file are on the disk then.
    fn sync(&self, file: &File, _path: &Path) -> io::Result<()> {
        file.sync_all()
    }

    /// A file or a folder gets its name. What is in it must be on the disk before.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// The same, where nothing is yet.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        names::rename_new(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        DirBuilder::new().mode(mode).create(path)
    }

    /// The names in a folder are on the disk then.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        names::sync_folder(folder)
    }

    /// All that is in a folder, at any depth, is on the disk then.
    fn sync_tree(&self, folder: &Path) -> io::Result<()> {
        names::sync_tree(folder)
    }

    /// A moment at which the work may be cut off.
    fn edge(&self, _name: &'static str) {}
}

/// The file system as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl FileOperations for RealDisk {}
