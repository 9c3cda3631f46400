//! Files that are there whole or not at all, also after a power cut.
//!
//! A file is written under a temporary name in its own folder, gets its owner and mode, is synced, gets its name by a
//! rename, and then its folder is synced. `Ok` means that all of it survives a power cut. Whoever is cut off in between
//! leaves the file as it was.
//!
//! All that reaches the disk goes through [`FileOperations`], so that tests can cut it off at every call: `tests.rs` does
//! so with each function here, and `testing` lets other crates do so with their own work.

mod create;
mod error;
mod folder;
mod json;
mod link;
mod names;
mod operations;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use create::{AtomicWrite, overwrite, temporary_name, write, write_with_metadata};
pub use error::PathError;
pub use folder::{
    make_folder, new_private_folder, private_folder, private_folder_with, publish_folder,
};
pub use json::{read_bounded, read_json};
pub use link::{hard_link, hard_link_or_copy, symlink};
pub use names::{
    is_absent, is_full, parent_folder, publish, remove, remove_synced, remove_tree, rename_synced,
    sync_folder,
};
pub use operations::{FileOperations, RealDisk};

#[cfg(test)]
mod tests;
