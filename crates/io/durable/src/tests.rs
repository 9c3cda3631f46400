//! Each function is cut off before each of its calls to the disk: killed, with the power lost, with torn writes. What is left is
//! what was there or what was to be there, whole, and the same work can be done again.

mod cuts;

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::Path,
};

use crate::{
    AtomicWrite, FileOperations, PathError, RealDisk, is_absent, is_full, new_private_folder,
    overwrite, parent_folder, private_folder, read_bounded, read_json, sync_folder, write,
    write_with_metadata,
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Nothing on a running machine tells a file that was synced from one that was not, but the kernel refuses to sync a device:
/// whoever does not ask is not refused.
#[test]
fn a_sync_reaches_the_kernel() {
    let null = Path::new("/dev/null");
    let file = File::open(null).unwrap();
    for asked in [
        RealDisk.sync(&file, null),
        RealDisk.sync_folder(null),
        sync_folder(null),
    ] {
        let refused = asked.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{refused}");
    }
}

#[test]
fn a_file_that_cannot_be_prepared_is_not_written_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&RealDisk, &path, b"before", 0o640).unwrap();
    let refused = |_: &File| Err(io::Error::other("refused"));
    write_with_metadata(&RealDisk, &path, b"after", 0o600, refused).unwrap_err();
    let own = AtomicWrite::new(&path, 0o600).via_unique_temporary();
    own.write_as(&RealDisk, b"after", refused).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(mode(&path), 0o640);
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_link_is_replaced_and_what_it_leads_to_stays() {
    let folder = tempfile::tempdir().unwrap();
    let [path, target] = ["link", "target"].map(|name| folder.path().join(name));
    fs::write(&target, "target").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    write(&RealDisk, &path, b"file", 0o600).unwrap();
    assert!(!path.is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"target");
}

/// Also an empty folder, and a link that leads nowhere.
#[test]
fn what_is_there_is_not_replaced_by_what_is_to_be_new() {
    let folder = tempfile::tempdir().unwrap();
    let [file, empty, link] = ["file", "empty", "link"].map(|name| folder.path().join(name));
    fs::write(&file, "before").unwrap();
    fs::create_dir(&empty).unwrap();
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    for path in [&file, &empty, &link] {
        let new = AtomicWrite::new(path, 0o600).without_replacing();
        for refused in [
            new.clone().via_unique_temporary().write(&RealDisk, b"new"),
            new.write(&RealDisk, b"new"),
            new_private_folder(&RealDisk, path, |_| Ok(())),
        ] {
            let kind = refused.unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::AlreadyExists, "{}", path.display());
        }
    }
    assert_eq!(fs::read(&file).unwrap(), b"before");
    assert!(empty.is_dir() && link.is_symlink());
    let unfilled = new_private_folder(&RealDisk, &folder.path().join("new"), |new| {
        fs::write(new.join("half"), "")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert!(is_full(&unfilled.unwrap_err()));
    assert_eq!(names(folder.path()), ["empty", "file", "link"]);
}

/// As any new file of whoever runs this.
#[test]
fn a_mode_may_be_left_to_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, written] = ["plain", "written"].map(|name| folder.path().join(name));
    fs::write(&plain, "").unwrap();
    let new = AtomicWrite::with_mode_of_umask(&written);
    new.write(&RealDisk, b"").unwrap();
    assert_eq!(mode(&written), mode(&plain));
}

#[test]
fn several_may_write_a_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let texts = ["a", "b", "c", "d"].map(|letter| letter.repeat(10_000));
    std::thread::scope(|scope| {
        for text in &texts {
            let own = AtomicWrite::new(&path, 0o600).via_unique_temporary();
            scope.spawn(move || {
                for _ in 0..50 {
                    own.clone()
                        .without_sync()
                        .write(&RealDisk, text.as_bytes())
                        .unwrap();
                }
            });
        }
    });
    assert!(texts.contains(&fs::read_to_string(&path).unwrap()));
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_file_is_written_over_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    write(&RealDisk, &path, b"a long state", 0o600).unwrap();
    overwrite(&RealDisk, &path, b"short").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"short");
    let missing = overwrite(&RealDisk, &folder.path().join("missing"), b"").unwrap_err();
    assert!(is_absent(&missing), "{missing}");
}

#[test]
fn a_private_folder_is_its_owners_alone_and_may_be_there() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("above/private");
    for _ in 0..2 {
        private_folder(&RealDisk, &path).unwrap();
        assert_eq!(mode(&path), 0o700);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    let file = top.path().join("file");
    fs::write(&file, "").unwrap();
    private_folder(&RealDisk, &file).unwrap_err();
    private_folder(&RealDisk, &file.join("private")).unwrap_err();
}

#[test]
fn what_is_read_is_bounded_and_a_torn_file_is_told_from_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.json");
    let json = AtomicWrite::new(&path, 0o600);
    json.write_json(&RealDisk, &["a", "b"]).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "[\n  \"a\",\n  \"b\"\n]");
    let length = text.len() as u64;
    let read = |largest| read_json::<Vec<String>>(&path, largest);
    assert_eq!(read(length).unwrap(), ["a", "b"]);
    let kind = |read: io::Result<Vec<String>>| read.unwrap_err().kind();
    assert_eq!(kind(read(length - 1)), io::ErrorKind::FileTooLarge);
    fs::write(&path, "[\"a\", ").unwrap();
    assert_eq!(kind(read(length)), io::ErrorKind::UnexpectedEof);
    fs::write(&path, "\0\0").unwrap();
    assert_eq!(kind(read(length)), io::ErrorKind::InvalidData);
    assert_eq!(read_bounded(&b"abc"[..], u64::MAX).unwrap(), b"abc");
}

#[test]
fn a_path_without_a_folder_is_in_this_one() {
    for (path, folder) in [("file", "."), ("/file", "/"), ("/", "/"), ("a/b", "a")] {
        assert_eq!(parent_folder(Path::new(path)), Path::new(folder), "{path}");
    }
}

#[test]
fn errors_name_the_path_and_keep_their_cause() {
    let error = PathError::at(Path::new("/etc/hosts"))(io::ErrorKind::StorageFull.into());
    assert!(is_full(&error.source));
    assert_eq!(error.to_string(), "/etc/hosts");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(!cause.contains("/etc/hosts"), "{cause}");
}
