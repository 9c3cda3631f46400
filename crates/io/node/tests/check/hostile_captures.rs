//! Captures that mean harm, or came to it: an error or a gap each time, never a panic, a hang or a look outside.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
};

use crate::common::{Archive, fixtures, in_time, load_one};
use crosstie_facts::{CaptureEntry, RawCapture, ReadGap};
use crosstie_model::Reading;
use crosstie_node::capture::{CaptureLimit, CaptureLoadError, load, pack, unpack};
use tar::EntryType;

const SECRET: &str = "the-secret-outside";

/// A directory with a secret in it and a place for a capture beside that.
fn beside_a_secret() -> (tempfile::TempDir, std::path::PathBuf) {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("secret"), SECRET).unwrap();
    fs::create_dir(home.path().join("vault")).unwrap();
    fs::write(home.path().join("vault/secret"), SECRET).unwrap();
    let capture = home.path().join("capture");
    fs::create_dir_all(capture.join("root/etc")).unwrap();
    (home, capture)
}

fn tells_no_secret(raw: &RawCapture) {
    // Byte strings are shown as numbers: look at both forms.
    let shown = format!("{raw:?}");
    let bytes = format!("{:?}", SECRET.as_bytes());
    assert!(!shown.contains(SECRET));
    assert!(!shown.contains(bytes.trim_matches(['[', ']'])));
}

#[test]
fn links_out_of_a_directory_are_text() {
    let (home, capture) = beside_a_secret();
    let outside = home.path().join("secret");
    symlink(&outside, capture.join("root/etc/hostname")).unwrap();
    symlink("../../../secret", capture.join("root/etc/relative")).unwrap();
    symlink(home.path().join("vault"), capture.join("root/vault")).unwrap();
    symlink(home.path().join("vault"), capture.join("cmd")).unwrap();
    symlink(&outside, capture.join("meta.toml")).unwrap();
    let raw = load_one(&capture).unwrap();
    tells_no_secret(&raw);
    assert_eq!(raw.meta.host, "capture");
    assert_eq!(raw.text("etc/hostname"), Reading::Absent);
    assert_eq!(raw.text("vault/secret"), Reading::Absent);
    assert_eq!(
        raw.entry("etc/relative"),
        Some(&CaptureEntry::Link("../../../secret".into()))
    );

    // Nor is a link in a directory of several taken for a capture.
    let several = home.path().join("several");
    fs::create_dir(&several).unwrap();
    symlink(&capture, several.join("a")).unwrap();
    fs::write(home.path().join("b.tar.gz"), pack(&raw).unwrap()).unwrap();
    symlink("../b.tar.gz", several.join("b.tar.gz")).unwrap();
    assert!(matches!(
        load(&several),
        Err(CaptureLoadError::NoCaptures { .. })
    ));
}

#[test]
fn a_root_that_is_a_link_is_no_capture() {
    let home = tempfile::tempdir().unwrap();
    symlink("/etc", home.path().join("root")).unwrap();
    assert!(matches!(
        load(home.path()),
        Err(CaptureLoadError::NoCaptures { .. })
    ));
}

#[test]
fn members_that_lead_outside_are_ignored() {
    let (home, _) = beside_a_secret();
    let outside = home.path().join("secret");
    let outside = outside.to_str().unwrap();
    let packed = Archive::of_a_node()
        .file(outside, b"replaced")
        .file("/node/root/absolute", b"x")
        .file("node/root/../../up", b"x")
        .file("../node/root/up", b"x")
        .link("node/root/link", outside)
        .file("node/root/link/below", b"through a link")
        .member(b"node/root/hard", EntryType::Link, outside, &[])
        .member(b"node/root/device", EntryType::Char, "", &[])
        .member(b"node/root/fifo", EntryType::Fifo, "", &[])
        .link("node/root", "/")
        .file("node/root/etc/fine", b"fine")
        .finish();
    let path = home.path().join("evil.tar.gz");
    fs::write(&path, packed).unwrap();
    let raw = load_one(&path).unwrap();
    tells_no_secret(&raw);
    let names: Vec<&str> = raw.tree().map(|(path, _)| path).collect();
    assert_eq!(names, ["etc/fine", "link", "link/below"]);
    assert_eq!(raw.text("etc/fine"), Reading::Value("fine"));
    assert_eq!(fs::read_to_string(outside).unwrap(), SECRET);
    assert!(!home.path().join("up").exists());
}

#[test]
fn a_capture_with_a_link_in_the_way_is_written_inside_itself() {
    let (home, _) = beside_a_secret();
    let target = home.path().join("vault");
    let mut raw = RawCapture::default();
    raw.insert("a", CaptureEntry::Link(target.to_str().unwrap().into()));
    raw.insert("a-b", CaptureEntry::Directory);
    raw.insert("a/planted", CaptureEntry::File(b"x".to_vec()));
    raw.insert("a/deep/planted", CaptureEntry::Link("x".into()));
    let path = home.path().join("written");
    crosstie_node::capture::write(&raw, &path).unwrap();
    assert_eq!(fs::read_dir(target).unwrap().count(), 1);
}

#[test]
fn wrong_types_are_absent_or_malformed() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().join("odd");
    for directory in ["meta.toml", "root/etc/hostname/x", "cmd/ip-addr.json/y"] {
        fs::create_dir_all(top.join(directory)).unwrap();
    }
    fs::write(top.join("root/sys"), "a file").unwrap();
    for raw in [load_one(&top).unwrap(), {
        let packed = Archive::new()
            .member(b"odd/meta.toml/", EntryType::Directory, "", &[])
            .member(b"odd/root/etc/hostname/x/", EntryType::Directory, "", &[])
            .member(b"odd/cmd/ip-addr.json/y/", EntryType::Directory, "", &[])
            .file("odd/root/sys", b"a file");
        let path = home.path().join("odd.tar.gz");
        fs::write(&path, packed.finish()).unwrap();
        load_one(&path).unwrap()
    }] {
        assert_eq!(raw.meta.host, "odd");
        assert!(raw.text("etc/hostname").known().is_none());
        assert_eq!(raw.names("sys/class/net"), [""; 0]);
        assert!(matches!(raw.command("ip-addr.json"), Reading::Malformed(_)));
    }
}

#[test]
fn nothing_but_a_folder_is_a_capture_with_everything_absent() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("bare/cmd")).unwrap();
    let raw = load_one(&home.path().join("bare")).unwrap();
    assert_eq!(raw.meta.host, "bare");
    assert_eq!(raw.tree().count() + raw.commands().count(), 0);
    // The directory above holds one capture.
    assert_eq!(load(home.path()).unwrap().len(), 1);
}

#[test]
fn a_host_is_named_by_meta_then_hostname_then_the_path() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().join("by-path");
    fs::create_dir_all(top.join("root/etc")).unwrap();
    assert_eq!(load_one(&top).unwrap().meta.host, "by-path");
    fs::write(top.join("root/etc/hostname"), "by-hostname\n").unwrap();
    assert_eq!(load_one(&top).unwrap().meta.host, "by-hostname");
    fs::write(top.join("meta.toml"), "format = 1").unwrap();
    assert_eq!(load_one(&top).unwrap().meta.host, "by-hostname");
    fs::write(top.join("meta.toml"), "format = 1\nhost = 'by-meta'").unwrap();
    assert_eq!(load_one(&top).unwrap().meta.host, "by-meta");
}

#[test]
fn fifos_and_sockets_do_not_block() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().join("node");
    fs::create_dir_all(top.join("root/etc")).unwrap();
    for path in ["root/etc/hostname", "root/pipe", "cmd", "meta.toml"] {
        rustix::fs::mkfifoat(rustix::fs::CWD, top.join(path), 0o600.into()).unwrap();
    }
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        home.path().join("pipe.tar.gz"),
        0o600.into(),
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(top.join("root/socket")).unwrap();
    let path = home.path().to_owned();
    let (all, pipe) = in_time(move || (load(&path), load_one(&path.join("pipe.tar.gz"))));
    let all = all.unwrap();
    assert_eq!(all.len(), 1, "the FIFO is no archive");
    let raw = all.into_iter().next().unwrap().raw.unwrap();
    let entries: Vec<_> = raw.tree().collect();
    assert_eq!(entries, [("etc", &CaptureEntry::Directory)]);
    assert!(
        matches!(pipe, Err(CaptureLoadError::NotACapture)),
        "{pipe:?}"
    );
}

#[test]
fn loops_end() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().join("node");
    fs::create_dir_all(top.join("root/a")).unwrap();
    symlink("..", top.join("root/a/up")).unwrap();
    symlink("self", top.join("root/self")).unwrap();
    symlink("pong", top.join("root/ping")).unwrap();
    symlink("ping", top.join("root/pong")).unwrap();
    let raw = in_time(move || load_one(&top).unwrap());
    for path in ["self", "ping", "pong/x"] {
        assert_eq!(raw.text(path), Reading::Absent, "{path}");
    }
    assert_eq!(raw.names("a/up/a/up/a"), ["up"]);
}

#[test]
fn a_huge_file_is_a_gap() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().join("node");
    fs::create_dir_all(top.join("root")).unwrap();
    let huge = fs::File::create(top.join("root/huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let raw = load_one(&top).unwrap();
    assert_eq!(
        raw.entry("huge"),
        Some(&CaptureEntry::Gap(ReadGap::TooLarge))
    );

    fs::File::create(top.join("meta.toml"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert!(matches!(
        load_one(&top),
        Err(CaptureLoadError::Limit(CaptureLimit::Meta))
    ));
}

#[test]
fn many_large_files_are_too_many() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().join("node");
    fs::create_dir_all(top.join("root")).unwrap();
    for number in 0..5 {
        let file = fs::File::create(top.join(format!("root/{number}"))).unwrap();
        file.set_len(16 << 20).unwrap();
    }
    assert!(matches!(
        load_one(&top),
        Err(CaptureLoadError::Limit(CaptureLimit::Stored))
    ));
}

#[test]
fn names_and_contents_need_not_be_text() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().join("node");
    fs::create_dir_all(top.join("root/etc")).unwrap();
    fs::write(top.join("root/etc").join(OsStr::from_bytes(b"\xff")), "x").unwrap();
    fs::write(top.join("root/etc/hostname"), b"\xff\xfe").unwrap();
    symlink(OsStr::from_bytes(b"\xff"), top.join("root/link")).unwrap();
    let by_hand = load_one(&top).unwrap();
    let packed = Archive::new()
        .member(b"node/root/etc/\xff", EntryType::Regular, "", b"x")
        .file("node/root/etc/hostname", b"\xff\xfe")
        .finish();
    for raw in [by_hand, unpack(&packed).unwrap()] {
        let names: Vec<&str> = raw.tree().map(|(path, _)| path).collect();
        assert_eq!(names, ["etc/hostname"]);
        assert!(matches!(raw.text("etc/hostname"), Reading::Malformed(_)));
    }
}

#[test]
fn deep_and_long_paths_are_left_out() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().join("node");
    let deep = vec!["d"; 100].join("/");
    let long = vec!["n".repeat(250); 5].join("/");
    for path in [&deep, &long] {
        fs::create_dir_all(top.join("root").join(path)).unwrap();
        fs::write(top.join("root").join(path).join("file"), "x").unwrap();
    }
    let raw = load_one(&top).unwrap();
    assert!(
        raw.tree()
            .all(|(_, entry)| *entry == CaptureEntry::Directory)
    );
    assert_eq!(raw.tree().count(), 2);
}

#[test]
fn one_bad_capture_holds_up_nobody() {
    let home = tempfile::tempdir().unwrap();
    let good = load_one(&fixtures().join("spark-healthy")).unwrap();
    fs::write(home.path().join("a.tar.gz"), pack(&good).unwrap()).unwrap();
    fs::write(home.path().join("b.tar.gz"), "not an archive").unwrap();
    fs::write(home.path().join("notes.txt"), "ignored").unwrap();
    fs::create_dir_all(home.path().join("c")).unwrap();
    fs::write(home.path().join("c/meta.toml"), "format = 7").unwrap();
    fs::write(home.path().join("d.tgz"), pack(&good).unwrap()).unwrap();
    let all = load(home.path()).unwrap();
    let shown: Vec<_> = all
        .iter()
        .map(|one| {
            (
                one.path.file_name().unwrap().to_str().unwrap(),
                one.raw.is_ok(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("a.tar.gz", true),
            ("b.tar.gz", false),
            ("c", false),
            ("d.tgz", true)
        ]
    );
    let error = all[2].raw.as_ref().unwrap_err().to_string();
    assert!(
        error.contains("format 7; this build reads format 1"),
        "{error}"
    );
}

#[test]
fn places_without_a_capture_say_so() {
    let home = tempfile::tempdir().unwrap();
    let error = load(home.path()).unwrap_err().to_string();
    assert!(error.contains(home.path().to_str().unwrap()), "{error}");
    let error = load(Path::new("/no/such/place")).unwrap_err();
    assert!(matches!(error, CaptureLoadError::Open { .. }), "{error:?}");
    let error = load_one(Path::new("/dev/zero")).unwrap_err();
    assert!(matches!(error, CaptureLoadError::NotACapture), "{error:?}");
}
