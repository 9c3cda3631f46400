//! Work that is cut off, and done again.

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use tempfile::TempDir;

use crate::{
    AtomicWrite, FileOperations, RealDisk, hard_link, hard_link_or_copy, make_folder,
    new_private_folder, private_folder, private_folder_with, publish, publish_folder,
    remove_synced, rename_synced, symlink, temporary_name,
    testing::{CrashPoint, UnsyncedWrites, at_every_cut},
    write, write_with_metadata,
};

/// What is in a folder, at any depth: its mode, and the bytes or where it leads; folders end in a slash.
type Tree = BTreeMap<String, (u32, Vec<u8>)>;

fn tree(folder: &Path) -> Tree {
    fn add(folder: &Path, top: &Path, tree: &mut Tree) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let status = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(top).unwrap().display().to_string();
            let mode = status.mode() & 0o7777;
            if status.is_dir() {
                tree.insert(name + "/", (mode, Vec::new()));
                add(&path, top, tree);
            } else if status.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                let target = target.into_os_string().into_string().unwrap();
                tree.insert(name, (mode, target.into_bytes()));
            } else {
                tree.insert(name, (mode, fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = Tree::new();
    add(folder, folder, &mut found);
    found
}

/// In memory: each piece of work is done dozens of times.
fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// Without what may be left under temporary names.
fn named(folder: &Path) -> Tree {
    let mut tree = tree(folder);
    tree.retain(|name, _| !name.starts_with(".crosstie-"));
    tree
}

/// Wherever `work` is cut off, there is what `prepare` made, or what the work makes of it; once it has said that it is done, the
/// latter. Done again, it is done, and `leaves_nothing` beside it.
fn is_whole_or_not_at_all(
    prepare: fn(&Path),
    work: impl Fn(&dyn FileOperations, &Path) -> io::Result<()>,
    leaves_nothing: bool,
) {
    let prepared = || {
        let folder = scratch();
        prepare(folder.path());
        folder
    };
    let before = tree(prepared().path());
    let finished = prepared();
    work(&RealDisk, finished.path()).unwrap();
    let after = tree(finished.path());
    assert_ne!(before, after);
    let check = |folder: &TempDir, place: &CrashPoint| {
        let found = named(folder.path());
        let is_after = found == after;
        assert!(is_after || found == before, "{place}: {found:?}");
        assert!(
            is_after || !place.is_done,
            "{place}: it said that it was done"
        );
        if !is_after {
            work(&RealDisk, folder.path()).unwrap();
            let found = if leaves_nothing { tree } else { named };
            assert_eq!(found(folder.path()), after, "{place}");
        }
    };
    at_every_cut(prepared, |disk, folder| work(disk, folder.path()), check).unwrap();
}

fn nothing(_: &Path) {}

fn file(folder: &Path) {
    fs::write(folder.join("file"), "before").unwrap();
    fs::set_permissions(folder.join("file"), Permissions::from_mode(0o644)).unwrap();
}

#[test]
fn a_file_is_written() {
    for prepare in [nothing, file] {
        let work = |disk: &dyn FileOperations, folder: &Path| {
            write(disk, &folder.join("file"), b"after", 0o640)
        };
        is_whole_or_not_at_all(prepare, work, true);
    }
}

#[test]
fn a_file_is_written_with_what_makes_it_the_same_file() {
    let work = |disk: &dyn FileOperations, folder: &Path| {
        let time = std::time::SystemTime::UNIX_EPOCH;
        let prepare = |file: &File| file.set_modified(time);
        write_with_metadata(disk, &folder.join("file"), b"after", 0o600, prepare)?;
        let status = fs::metadata(folder.join("file"))?;
        assert_eq!(status.modified()?, time);
        Ok(())
    };
    is_whole_or_not_at_all(file, work, true);
}

#[test]
fn a_file_is_written_without_a_lock() {
    for prepare in [nothing, file] {
        let work = |disk: &dyn FileOperations, folder: &Path| {
            let path = folder.join("file");
            let own = AtomicWrite::new(&path, 0o600).via_unique_temporary();
            own.write_json(disk, &["after"])
        };
        is_whole_or_not_at_all(prepare, work, false);
    }
}

/// Where there is one already, it stays.
fn if_new(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[test]
fn a_file_is_written_piece_by_piece_where_there_is_none() {
    let work = |disk: &dyn FileOperations, folder: &Path| {
        let path = folder.join("file");
        let new = AtomicWrite::new(&path, 0o700)
            .via_unique_temporary()
            .without_replacing();
        let mut pieces = &b"a program, as it is read from elsewhere"[..];
        if_new(new.write_with(disk, |file| io::copy(&mut pieces, file).map(drop)))
    };
    is_whole_or_not_at_all(nothing, work, false);
}

#[test]
fn a_new_folder_appears_with_what_its_maker_puts_there() {
    let work = |disk: &dyn FileOperations, folder: &Path| {
        let fill = |new: &Path| {
            fs::create_dir(new.join("below"))?;
            for name in ["below/file", "other"] {
                disk.wrote(&new.join(name));
                fs::write(new.join(name), name)?;
            }
            Ok(())
        };
        if_new(new_private_folder(disk, &folder.join("folder"), fill))
    };
    is_whole_or_not_at_all(nothing, work, false);
}

#[test]
fn a_folder_of_another_program_gets_its_name() {
    let prepare = |folder: &Path| {
        fs::create_dir(folder.join("partial")).unwrap();
        fs::write(folder.join("partial/file"), "file").unwrap();
    };
    let work = |disk: &dyn FileOperations, folder: &Path| {
        let [partial, path] = ["partial", "folder"].map(|name| folder.join(name));
        if path.exists() {
            return Ok(());
        }
        // Whoever wrote it did not sync it.
        disk.wrote(&partial.join("file"));
        publish_folder(disk, &partial, &path)
    };
    // A power cut may have torn what it was made of, so it is made anew.
    let check = |folder: &TempDir, place: &CrashPoint| {
        let found = fs::read_to_string(folder.path().join("folder/file")).ok();
        assert!(
            found.as_ref().is_none_or(|found| found == "file"),
            "{place}"
        );
        assert!(found.is_some() || !place.is_done, "{place}");
    };
    let prepared = || {
        let folder = scratch();
        prepare(folder.path());
        folder
    };
    at_every_cut(prepared, |disk, folder| work(disk, folder.path()), check).unwrap();
}

#[test]
fn a_file_is_removed() {
    let work = |disk: &dyn FileOperations, folder: &Path| {
        remove_synced(disk, &folder.join("file")).map(drop)
    };
    is_whole_or_not_at_all(file, work, true);
}

#[test]
fn a_file_gets_another_name() {
    let work = |disk: &dyn FileOperations, folder: &Path| {
        let [from, to] = ["file", "other"].map(|name| folder.join(name));
        if from.exists() {
            rename_synced(disk, &from, &to)?;
        }
        Ok(())
    };
    is_whole_or_not_at_all(file, work, true);
}

#[test]
fn a_file_gets_a_second_name_in_place_of_another_file() {
    let other = |folder: &Path| {
        file(folder);
        fs::write(folder.join("other"), "other").unwrap();
    };
    let links = |disk: &dyn FileOperations, folder: &Path| {
        let [existing, path] = ["file", "other"].map(|name| folder.join(name));
        hard_link(disk, &existing, &path, |_| Ok(()))
    };
    is_whole_or_not_at_all(other, links, true);
    let copies = |disk: &dyn FileOperations, folder: &Path| {
        // On nearly every machine another file system, where no link can lead.
        let source = tempfile::tempdir()?;
        let existing = source.path().join("program");
        write(&RealDisk, &existing, b"program", 0o700)?;
        hard_link_or_copy(disk, &existing, &folder.join("other"))
    };
    is_whole_or_not_at_all(other, copies, true);
}

/// A rename between two names of one file does nothing.
#[test]
fn a_second_name_may_be_there() {
    let folder = scratch();
    file(folder.path());
    let [existing, path] = ["file", "other"].map(|name| folder.path().join(name));
    for _ in 0..2 {
        hard_link(&RealDisk, &existing, &path, |_| Ok(())).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().nlink(), 2);
        assert!(!temporary_name(&path).exists());
    }
}

#[test]
fn a_link_leads_elsewhere() {
    let prepare =
        |folder: &Path| std::os::unix::fs::symlink("before", folder.join("link")).unwrap();
    let work = |disk: &dyn FileOperations, folder: &Path| {
        symlink(disk, Path::new("after"), &folder.join("link"), |_| Ok(()))
    };
    is_whole_or_not_at_all(prepare, work, true);
}

#[test]
fn a_folder_is_made_with_those_above_it() {
    let one =
        |disk: &dyn FileOperations, folder: &Path| make_folder(disk, &folder.join("one"), 0o755);
    is_whole_or_not_at_all(nothing, one, true);
    let private =
        |disk: &dyn FileOperations, folder: &Path| private_folder(disk, &folder.join("one"));
    is_whole_or_not_at_all(nothing, private, true);
    // Those above may be there alone.
    let work = |disk: &dyn FileOperations, folder: &TempDir| {
        private_folder(disk, &folder.path().join("a/b/c"))
    };
    let check = |folder: &TempDir, place: &CrashPoint| {
        let path = folder.path().join("a/b/c");
        assert!(path.is_dir() || !place.is_done, "{place}");
        private_folder(&RealDisk, &path).unwrap();
    };
    at_every_cut(scratch, |disk, folder| work(disk, folder), check).unwrap();
}

/// A run that was killed has made a folder two levels up; the next one says that all is done, and the power goes.
#[test]
fn a_folder_that_a_killed_run_has_made_is_there_after_a_power_cut() {
    let power_lost = scratch();
    let disk = UnsyncedDisk::default();
    let above = power_lost.path().join("a");
    disk.create_folder(&above, 0o755).unwrap();
    make_folder(&disk, &above.join("b/c"), 0o755).unwrap();
    disk.0.revert_names().unwrap();
    assert!(above.join("b/c").is_dir());
}

#[derive(Default)]
struct UnsyncedDisk(UnsyncedWrites);

impl FileOperations for UnsyncedDisk {
    fn create_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        RealDisk.create_folder(path, mode)?;
        self.0.made_folder(path);
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.0.synced_folder(folder);
        RealDisk.sync_folder(folder)
    }
}

#[test]
fn a_folder_appears_with_what_is_in_it() {
    let work = |disk: &dyn FileOperations, folder: &Path| {
        let path = folder.join("folder");
        if path.exists() {
            return Ok(());
        }
        let files: [(&str, &[u8]); 3] = [
            ("journal", b"journal"),
            ("below/deeper/file", b"file"),
            ("below/other", b""),
        ];
        private_folder_with(disk, &path, &folder.join(".crosstie-new"), &files)
    };
    is_whole_or_not_at_all(nothing, work, true);
}

/// Whichever is there is whole, and the last is there once both are.
#[test]
fn files_of_another_program_get_their_names_in_their_order() {
    let prepare = || {
        let folder = scratch();
        for name in ["public", "private"] {
            fs::write(folder.path().join(format!(".{name}")), name).unwrap();
        }
        folder
    };
    let work = |disk: &dyn FileOperations, folder: &TempDir| {
        let path = |name: &str| folder.path().join(name);
        // Whoever wrote them did not sync them.
        disk.wrote(&path(".public"));
        disk.wrote(&path(".private"));
        let files = [
            (&*path(".public"), &*path("public")),
            (&*path(".private"), &*path("private")),
        ];
        publish(disk, &files)
    };
    let check = |folder: &TempDir, place: &CrashPoint| {
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        let (public, private) = (read("public"), read("private"));
        for (found, text) in [(&public, "public"), (&private, "private")] {
            assert!(found.as_ref().is_none_or(|found| found == text), "{place}");
        }
        assert!(public.is_some() || private.is_none(), "{place}");
        assert!(private.is_some() || !place.is_done, "{place}");
    };
    at_every_cut(prepare, |disk, folder| work(disk, folder), check).unwrap();
}

/// Work that leaves something out is found out: else the tests above would say nothing.
#[test]
fn what_is_not_synced_is_lost() {
    let unsynced = |disk: &dyn FileOperations, folder: &Path| {
        let path = folder.join("file");
        disk.rename(&path, &folder.join("other"))
    };
    let names = std::panic::catch_unwind(|| is_whole_or_not_at_all(file, unsynced, true));
    assert!(names.is_err(), "a name that was not synced");
    let unsynced = |disk: &dyn FileOperations, folder: &Path| {
        let path = folder.join("file");
        AtomicWrite::new(&path, 0o600)
            .without_sync()
            .write(disk, b"after")
    };
    let bytes = std::panic::catch_unwind(|| is_whole_or_not_at_all(file, unsynced, true));
    assert!(bytes.is_err(), "bytes that were not synced");
}
