//! What is written is what is read, for any capture.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::common::fixtures;
use crosstie_facts::{CaptureEntry, CaptureMeta, RawCapture, ReadGap};
use crosstie_node::capture::{CaptureWriteError, load, pack, unpack, write};
use proptest::prelude::*;

fn load_one(path: &Path) -> RawCapture {
    crate::common::load_one(path).unwrap()
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-c]",
        2 => "[a-z0-9:._ -]{1,12}",
        1 => "\\PC{1,20}",
        1 => any::<String>(),
        1 => "[x-z]{90,255}",
        1 => Just(".keep".to_owned()),
        1 => Just("line\nbreak".to_owned()),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..8).prop_map(|names| names.join("/"))
}

fn gap() -> impl Strategy<Value = ReadGap> {
    prop_oneof![
        Just(ReadGap::Absent),
        Just(ReadGap::Denied),
        Just(ReadGap::TooLarge),
        any::<String>().prop_map(ReadGap::Failed),
    ]
}

fn entry() -> impl Strategy<Value = CaptureEntry> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..1500).prop_map(CaptureEntry::File),
        2 => path().prop_map(CaptureEntry::Link),
        1 => any::<String>().prop_map(CaptureEntry::Link),
        1 => "(\\.\\./){0,60}[a-z/]{0,200}".prop_map(CaptureEntry::Link),
        1 => Just(CaptureEntry::Directory),
        1 => gap().prop_map(CaptureEntry::Gap),
    ]
}

fn raw() -> impl Strategy<Value = RawCapture> {
    let captured = prop_oneof![Just("2026-11-01T12:00:00Z".to_owned()), any::<String>()];
    let tree = prop::collection::vec((path(), entry()), 0..40);
    let commands = prop::collection::vec((name(), entry()), 0..6);
    let meta = (any::<String>(), captured, any::<Option<String>>());
    (meta, tree, commands).prop_map(|((host, captured, root_refused), tree, commands)| {
        let mut raw = RawCapture::new(CaptureMeta {
            host,
            captured,
            root_refused,
        });
        for (path, entry) in tree {
            raw.insert(&path, entry);
        }
        for (name, entry) in commands {
            raw.insert_command(&name, entry);
        }
        raw
    })
}

/// Less the entries that no file system has room for: those below a file or a link.
fn on_a_file_system(raw: &RawCapture) -> RawCapture {
    let mut kept = RawCapture::new(raw.meta.clone());
    for (path, entry) in raw.tree() {
        let is_hidden = path.match_indices('/').any(|(end, _)| {
            matches!(
                raw.entry(&path[..end]),
                Some(CaptureEntry::File(_) | CaptureEntry::Link(_))
            )
        });
        if !is_hidden || matches!(entry, CaptureEntry::Gap(_)) {
            kept.insert(path, entry.clone());
        }
    }
    for (name, entry) in raw.commands() {
        kept.insert_command(name, entry.clone());
    }
    kept
}

fn some_cases() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn packed_and_unpacked(raw in raw()) {
        let packed = pack(&raw).unwrap();
        prop_assert_eq!(&packed, &pack(&raw.clone()).unwrap());
        prop_assert_eq!(unpack(&packed).unwrap(), raw);
    }

    #[test]
    fn written_to_a_directory_and_loaded(raw in raw()) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("capture");
        write(&raw, &path).unwrap();
        prop_assert_eq!(load_one(&path), on_a_file_system(&raw));
    }
}

#[test]
fn the_samples_survive_both_forms() {
    let home = tempfile::tempdir().unwrap();
    let samples = load(fixtures()).unwrap();
    assert!(samples.len() >= 3);
    for sample in &samples {
        let name = sample.path.file_name().unwrap().to_str().unwrap();
        let raw = sample.raw.as_ref().unwrap();
        for written in [
            name.to_owned(),
            format!("{name}.tar.gz"),
            format!("{name}.tgz"),
        ] {
            let path = home.path().join(written);
            write(raw, &path).unwrap();
            assert_eq!(&load_one(&path), raw, "{}", path.display());
        }
    }
    let all = load(home.path()).unwrap();
    assert_eq!(all.len(), 3 * samples.len());
    assert!(all.is_sorted_by_key(|loaded| loaded.path.as_os_str()));
}

#[test]
fn a_directory_and_its_tar_by_other_hands_are_the_same_capture() {
    let home = tempfile::tempdir().unwrap();
    for (name, arguments) in [
        ("folder", &["spark-healthy"][..]),
        ("pax", &["--format=pax", "spark-healthy"]),
        ("oldgnu", &["--format=oldgnu", "spark-healthy"]),
        ("top", &["-C", "spark-healthy", "."]),
    ] {
        let packed = home.path().join(format!("{name}.tar.gz"));
        let status = Command::new("tar")
            .arg("-czf")
            .arg(&packed)
            .args(arguments)
            .current_dir(fixtures())
            .status()
            .expect("tar is missing: install the Debian package tar");
        assert!(status.success());
        assert_eq!(
            load_one(&packed),
            load_one(&fixtures().join("spark-healthy")),
            "{name}"
        );
    }
}

#[test]
fn a_written_archive_unpacks_with_plain_tar() {
    let home = tempfile::tempdir().unwrap();
    let raw = load_one(&fixtures().join("workstation-cx5-healthy"));
    let packed = home.path().join("a.tar.gz");
    write(&raw, &packed).unwrap();
    let output = Command::new("tar")
        .arg("-xvzf")
        .arg(&packed)
        .current_dir(home.path())
        .output()
        .expect("tar is missing: install the Debian package tar");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
    assert_eq!(load_one(&home.path().join("work-b")), raw);
}

#[test]
fn what_is_there_is_not_overwritten() {
    let home = tempfile::tempdir().unwrap();
    for name in ["file", "dangling", "folder", "file.tar.gz"] {
        let path = home.path().join(name);
        match name {
            "folder" => fs::create_dir(&path).unwrap(),
            "dangling" => std::os::unix::fs::symlink("nowhere", &path).unwrap(),
            _ => fs::write(&path, "mine").unwrap(),
        }
        let error = write(&RawCapture::default(), &path).unwrap_err();
        assert!(
            matches!(error, CaptureWriteError::Exists { .. }),
            "{error:?}"
        );
    }
    assert_eq!(fs::read(home.path().join("file")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 4);
}

#[test]
fn a_failed_write_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut raw = RawCapture::default();
    for number in 0..5 {
        raw.insert(
            &format!("big{number}"),
            CaptureEntry::File(vec![0; 16 << 20]),
        );
    }
    for name in ["big", "big.tar.gz"] {
        let error = write(&raw, &home.path().join(name)).unwrap_err();
        assert!(matches!(error, CaptureWriteError::TooLarge(_)), "{error:?}");
    }
    for name in ["no/such/parent", "no/such/parent.tar.gz"] {
        let error = write(&RawCapture::default(), &home.path().join(name)).unwrap_err();
        assert!(error.to_string().contains("no/such/parent"), "{error}");
    }
    assert!(matches!(
        write(&RawCapture::default(), Path::new("/")),
        Err(CaptureWriteError::Exists { .. })
    ));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn only_the_owner_may_read_what_was_written() {
    let home = tempfile::tempdir().unwrap();
    let raw = load_one(&fixtures().join("spark-healthy"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = home.path().join("a");
    write(&raw, &directory).unwrap();
    for (path, expected) in [
        ("", 0o700),
        ("meta.toml", 0o600),
        ("root/etc", 0o700),
        ("root/etc/hostname", 0o600),
        ("cmd/ip-addr.json", 0o600),
    ] {
        assert_eq!(mode(&directory.join(path)), expected, "{path}");
    }
    let packed = home.path().join("a.tgz");
    write(&raw, &packed).unwrap();
    assert_eq!(mode(&packed), 0o600);
}
