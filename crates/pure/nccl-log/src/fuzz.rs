//! The reader of foreign bytes in this crate, on the terms of the other crates' fuzz tables.

use crate::NcclLogReader;

/// A parser with its result thrown away: all that is asked of it is to return.
pub type NcclLogFuzzTarget = (&'static str, fn(&[u8]));

pub const TARGETS: &[NcclLogFuzzTarget] = &[("nccl_log", nccl_log)];

/// A log told whole and in small pieces must say the same.
fn nccl_log(data: &[u8]) {
    let Some((first, log)) = data.split_first() else {
        return;
    };
    let whole = read(log, log.len().max(1));
    let pieces = read(log, usize::from(*first).max(1));
    assert_eq!(whole, pieces, "told whole, told in pieces");
}

fn read(log: &[u8], piece: usize) -> crate::NcclLogReport {
    let mut reader = NcclLogReader::new();
    for piece in log.chunks(piece) {
        reader.feed(piece);
    }
    reader.finish(&[])
}
