//! All files below a folder, to be compared.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt, path::Path};

/// Path → mode, owner and bytes.
pub(super) type Tree = BTreeMap<String, (u32, u32, Vec<u8>)>;

pub(super) fn walk(folder: &Path, root: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, root, tree);
        } else {
            let status = fs::symlink_metadata(&path).unwrap();
            let shown = format!("/{}", path.strip_prefix(root).unwrap().display());
            let bytes = fs::read(&path).unwrap();
            tree.insert(shown, (status.mode(), status.uid(), bytes));
        }
    }
    let shown = format!("/{}/", folder.strip_prefix(root).unwrap().display());
    tree.insert(shown, (0, 0, Vec::new()));
}

pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
