//! However a log is cut, it says the same; however hostile it is, memory stays bounded.

use std::{fmt::Write, path::Path};

use crosstie_nccl_log::{NcclLogReader, NcclLogReport};
use proptest::prelude::*;

fn read(pieces: &[&[u8]]) -> NcclLogReport {
    let mut reader = NcclLogReader::new();
    for piece in pieces {
        reader.feed(piece);
    }
    reader.finish(&[])
}

/// The sample logs, one after the other: several runs in one file.
fn samples() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/nccl-logs");
    let entries = folder.read_dir().unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    paths.sort();
    let logs = paths.iter().map(|path| std::fs::read(path).unwrap());
    logs.flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn split_anywhere_a_log_says_the_same(mut cuts in prop::collection::vec(0_usize..1 << 20, 0..40)) {
        let log = samples();
        for cut in &mut cuts {
            *cut %= log.len();
        }
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&log[from..cut]);
            from = cut;
        }
        pieces.push(&log[from..]);
        prop_assert_eq!(read(&pieces), read(&[&log]));
    }

    #[test]
    fn any_bytes_are_taken(log in prop::collection::vec(any::<u8>(), 0..4096), cut in 0_usize..4096) {
        let (one, other) = log.split_at(cut.min(log.len()));
        prop_assert_eq!(read(&[one, other]), read(&[&log]));
    }
}

#[test]
fn byte_by_byte_a_log_says_the_same() {
    let log = samples();
    let pieces: Vec<&[u8]> = log.chunks(1).collect();
    assert_eq!(read(&pieces), read(&[&log]));
}

#[test]
fn a_line_without_end_hides_nothing_after_it() {
    let mut reader = NcclLogReader::new();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        reader.feed(&piece);
    }
    reader
        .feed(b" a:1:2 [0] NCCL INFO Using network Socket\na:1:2 [0] NCCL INFO Using network IB\n");
    let report = reader.finish(&[]);
    assert_eq!(report.lines, 2);
    assert_eq!(report.runs[0].hosts[0].networks, ["IB"]);
}

#[test]
fn a_long_line_is_cut_at_the_same_place_however_it_comes() {
    let mut log = vec![b'x'; 16 << 10];
    log.extend_from_slice(
        b" a:1:2 [0] NCCL INFO Using network Socket\nb:1:2 [0] NCCL INFO Using network IB\n",
    );
    let whole = read(&[&log]);
    assert_eq!(whole.runs[0].hosts.len(), 1);
    assert_eq!(read(&[&log[..9000], &log[9000..]]), whole);
}

/// Each table filled past its bound.
#[test]
fn too_many_names_are_counted_out() {
    let mut reader = NcclLogReader::new();
    for number in 0..600_000_u32 {
        let device = number % 100;
        let line = match number % 4 {
            0 => format!("h{number}:{number}:1 [0] NCCL INFO Using network n{number}\n"),
            1 => format!(
                "a:1:{number} [0] NCCL INFO comm 0x1 rank {number} nranks 9 cudaDev 0 commId 0x{number:x} - Init START\n"
            ),
            2 => format!(
                "a:1:1 [0] NCCL INFO Channel 00/0 : {number}[0] -> 1[0] [send] via NET/IB/{device}\n"
            ),
            _ => format!(
                "a:1:1 [0] NCCL INFO NET/IB : Using [0]m{number}:1/RoCE [RO]; OOB e:1<0>\nNCCL version 2.{number}\n"
            ),
        };
        reader.feed(line.as_bytes());
    }
    let fed = resident();
    let report = reader.finish(&[]);
    assert!(report.truncated);
    assert!(report.versions.len() <= 16);
    // The tables when full, and the report of them, with room for the other tests of this program.
    let told = resident();
    assert!(
        fed < 200 << 20 && told < 300 << 20,
        "{fed} bytes, then {told}"
    );
}

/// Bytes of memory that this process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kibibytes: u64 = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kibibytes << 10
}

#[test]
fn processes_joined_in_the_worst_order_are_still_one_run() {
    let mut log = String::new();
    for pair in (1..4000_u32).rev() {
        for process in [pair - 1, pair] {
            let _ = writeln!(
                log,
                "a:{process}:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 commId 0x{pair:x} - Init START"
            );
        }
    }
    assert_eq!(read(&[log.as_bytes()]).runs.len(), 1);
}

#[test]
fn thousands_of_runs_are_told_apart_in_time() {
    let mut log = String::new();
    for run in 0..20_000_u32 {
        let speaker = format!("h{}:{run}:1 [0] NCCL INFO", run % 5000);
        let _ = writeln!(log, "{speaker} Using network Socket");
        let _ = writeln!(log, "{speaker} NET/IB : No device found.");
        let _ = writeln!(
            log,
            "{speaker} comm 0x1 rank 0 nranks 2 cudaDev 0 commId 0x{run:x} - Init START"
        );
        let _ = writeln!(
            log,
            "{speaker} comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1"
        );
    }
    let report = read(&[log.as_bytes()]);
    assert!(report.truncated);
    assert_eq!(report.runs.len(), 4096);
}
