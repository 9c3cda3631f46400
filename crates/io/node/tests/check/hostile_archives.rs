//! Archives that mean harm: bombs, lies about sizes, damage.

use std::{fs, io::Read, process::Command, sync::OnceLock};

use crate::common::{Archive, fixtures, in_time, load_one};
use crosstie_facts::{CaptureEntry, RawCapture, ReadGap};
use crosstie_node::capture::{CaptureLimit, CaptureLoadError, load, pack, unpack};
use proptest::prelude::*;
use tar::EntryType;

fn stopped_by(packed: Vec<u8>) -> CaptureLimit {
    match in_time(move || unpack(&packed)) {
        Err(CaptureLoadError::Limit(limit)) => limit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bomb_of_one_member_is_stopped() {
    for path in ["node/root/zeros", "elsewhere", "/absolute"] {
        let packed = Archive::of_a_node()
            .header(path.as_bytes(), EntryType::Regular, "", 1 << 30)
            .zeros(1024)
            .finish();
        assert!(packed.len() < 8 << 20);
        assert_eq!(stopped_by(packed), CaptureLimit::Stream, "{path}");
    }
}

#[test]
fn a_bomb_behind_the_end_is_stopped() {
    let packed = Archive::of_a_node().zeros(1024).finish();
    assert_eq!(stopped_by(packed), CaptureLimit::Stream);
}

#[test]
fn a_bomb_of_many_members_is_stopped() {
    let mut archive = Archive::of_a_node();
    for number in 0..200_001 {
        archive = archive.file(&format!("node/root/{number}"), &[]);
    }
    assert_eq!(stopped_by(archive.finish()), CaptureLimit::Entries);
}

#[test]
fn a_bomb_of_allowed_files_is_stopped() {
    let mut archive = Archive::of_a_node();
    for number in 0..5 {
        let path = format!("node/root/{number}");
        archive = archive
            .header(path.as_bytes(), EntryType::Regular, "", 16 << 20)
            .zeros(16);
    }
    assert_eq!(stopped_by(archive.finish()), CaptureLimit::Stored);
}

#[test]
fn a_bomb_of_names_is_stopped() {
    for kind in [
        EntryType::GNULongName,
        EntryType::GNULongLink,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
    ] {
        let packed = Archive::of_a_node()
            .header(b"@LongLink", kind, "", 1 << 30)
            .zeros(1024)
            .finish();
        assert_eq!(stopped_by(packed), CaptureLimit::Stream, "{kind:?}");
    }
}

#[test]
fn a_bomb_of_meta_is_stopped() {
    let packed = Archive::new()
        .file("meta.toml", "a = [[], [], []]\n".repeat(100_000).as_bytes())
        .finish();
    assert_eq!(stopped_by(packed), CaptureLimit::Meta);
}

#[test]
fn a_bomb_of_empty_gzip_members_is_read_up() {
    let empty = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast())
        .finish()
        .unwrap();
    let packed = empty.repeat(200_000);
    assert!(matches!(
        in_time(move || unpack(&packed)),
        Err(CaptureLoadError::NotACapture)
    ));
}

#[test]
fn little_memory_is_enough_to_stop_them() {
    // Address space, not resident memory, so that even an allocation never touched counts.
    let output = Command::new("prlimit")
        .arg("--as=536870912")
        .arg(std::env::current_exe().unwrap())
        .args(["hostile_archives::a_bomb", "--test-threads=1"])
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .expect("prlimit is missing: install the Debian package util-linux");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("7 passed"), "{text}");
}

#[test]
fn a_member_between_the_limits_is_a_gap() {
    let packed = Archive::of_a_node()
        .header(b"node/root/large", EntryType::Regular, "", 17 << 20)
        .zeros(17)
        .file("node/root/after", b"still read")
        .finish();
    let raw = in_time(move || unpack(&packed)).unwrap();
    assert_eq!(
        raw.entry("large"),
        Some(&CaptureEntry::Gap(ReadGap::TooLarge))
    );
    assert!(raw.entry("after").is_some());
}

#[test]
fn a_member_that_lies_about_its_size_costs_nothing() {
    for size in [16 << 20, 1 << 33, u64::MAX >> 1, u64::MAX] {
        let packed = Archive::of_a_node()
            .header(b"node/root/lie", EntryType::Regular, "", size)
            .raw(b"short")
            .finish();
        let result = in_time(move || unpack(&packed));
        assert!(
            matches!(result, Err(CaptureLoadError::Tar { .. })),
            "{result:?}"
        );
    }
}

#[test]
fn sparse_members_are_refused() {
    let old = Archive::of_a_node()
        .member(b"node/root/sparse", EntryType::GNUSparse, "", b"x")
        .finish();
    let pax = Archive::of_a_node()
        .member(b"pax", EntryType::XHeader, "", b"22 GNU.sparse.major=1\n")
        .file("node/root/sparse", b"x")
        .finish();
    for packed in [old, pax] {
        assert!(matches!(unpack(&packed), Err(CaptureLoadError::Sparse)));
    }
}

#[test]
fn long_names_and_targets_are_read_within_bounds() {
    let long = |length: usize| format!("node/root/{}\0", "x".repeat(length));
    let packed = Archive::of_a_node()
        .member(b"@", EntryType::GNULongName, "", long(200).as_bytes())
        .file("short", b"kept")
        .member(b"@", EntryType::GNULongName, "", long(300).as_bytes())
        .file("short", b"no file system has such a name")
        .member(b"@", EntryType::GNULongName, "", long(70_000).as_bytes())
        .file("node/root/short", b"not under its short name either")
        .member(b"@", EntryType::GNULongLink, "", &[b'y'; 5000])
        .link("node/root/link", "short")
        .finish();
    let raw = unpack(&packed).unwrap();
    let names: Vec<&str> = raw.tree().map(|(path, _)| path).collect();
    assert_eq!(names, ["x".repeat(200)]);
}

#[test]
fn two_captures_in_one_archive_are_refused() {
    let packed = Archive::of_a_node()
        .file("other/meta.toml", b"format = 1")
        .finish();
    assert!(matches!(
        unpack(&packed),
        Err(CaptureLoadError::Several { .. })
    ));
}

#[test]
fn damage_is_told_from_absence() {
    let sample = pack(&load_one(&fixtures().join("spark-healthy")).unwrap()).unwrap();
    for length in [
        0,
        1,
        9,
        20,
        sample.len() / 2,
        sample.len() - 9,
        sample.len() - 1,
    ] {
        let error = unpack(&sample[..length]).unwrap_err();
        assert!(
            matches!(error, CaptureLoadError::Gzip(_))
                || (length == 0 && matches!(error, CaptureLoadError::NotACapture)),
            "{length}: {error:?}"
        );
    }
    let not_tar = Archive::new().raw(&[b'x'; 5000]).finish();
    assert!(matches!(
        unpack(&not_tar),
        Err(CaptureLoadError::Tar { .. })
    ));
    let cut = Archive::of_a_node().raw(b"half a header");
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("cut.tar.gz");
    fs::write(&path, cut.finish()).unwrap();
    assert!(matches!(load_one(&path), Err(CaptureLoadError::Tar { .. })));
    for bytes in [&b"random"[..], b"\x1f\x8b\x08", b"PK\x03\x04"] {
        assert!(
            matches!(unpack(bytes), Err(CaptureLoadError::Gzip(_))),
            "{bytes:?}"
        );
    }
}

fn samples() -> &'static [Vec<u8>] {
    static SAMPLES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let loaded = load(fixtures()).unwrap();
        loaded
            .into_iter()
            .map(|sample| pack(&sample.raw.unwrap()).unwrap())
            .collect()
    })
}

fn inflated(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// Looks at everything, as the parsers would.
fn survives(result: &Result<RawCapture, CaptureLoadError>) {
    let raw = match result {
        Ok(raw) => raw,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    for (path, _) in raw.tree() {
        let _ = (raw.text(path), raw.names(path), raw.real_path(path));
    }
    assert_eq!(&unpack(&pack(raw).unwrap()).unwrap(), raw);
}

#[derive(Debug, Clone)]
enum Harm {
    Flip(usize, u8),
    Cut(usize),
    Repeat(usize, usize),
    Insert(usize, Vec<u8>),
}

fn harm() -> impl Strategy<Value = Harm> {
    let place = any::<usize>;
    prop_oneof![
        4 => (place(), 1..=u8::MAX).prop_map(|(at, bits)| Harm::Flip(at, bits)),
        1 => place().prop_map(Harm::Cut),
        1 => (place(), 0..2000usize).prop_map(|(at, length)| Harm::Repeat(at, length)),
        1 => (place(), prop::collection::vec(any::<u8>(), 1..600)).prop_map(|(at, bytes)| Harm::Insert(at, bytes)),
    ]
}

fn harmed(mut bytes: Vec<u8>, harms: &[Harm]) -> Vec<u8> {
    for harm in harms {
        let place = |at: &usize| at % (bytes.len() + 1);
        match harm {
            Harm::Flip(at, bits) => {
                let at = place(at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Harm::Cut(at) => bytes.truncate(place(at)),
            Harm::Repeat(at, length) => {
                let at = place(at);
                let end = (at + length).min(bytes.len());
                bytes.extend_from_within(at..end);
            }
            Harm::Insert(at, insert) => {
                let at = place(at);
                bytes.splice(at..at, insert.iter().copied());
            }
        }
    }
    bytes
}

fn some_cases() -> ProptestConfig {
    ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn random_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        survives(&unpack(&bytes));
        survives(&unpack(&Archive::new().raw(&bytes).finish()));
        survives(&unpack(&Archive::new().file("meta.toml", &bytes).finish()));
    }

    #[test]
    fn harmed_samples_are_survived(which in 0..3usize, harms in prop::collection::vec(harm(), 1..5)) {
        let sample = &samples()[which];
        survives(&unpack(&harmed(sample.clone(), &harms)));
        survives(&unpack(&Archive::new().raw(&harmed(inflated(sample), &harms)).finish()));
    }
}
