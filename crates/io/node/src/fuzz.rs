//! The readers of foreign bytes in this crate, on the terms of [`crosstie_facts::fuzz`].

use std::io::Write;

use crosstie_facts::fuzz::FactsFuzzTarget;
use flate2::{Compression, write::GzEncoder};
use tar::Header;

use crate::capture::{limits::MAX_STREAM, pack, unpack};

pub const TARGETS: &[FactsFuzzTarget] = &[("capture_tar", capture_tar)];

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const BLOCK: usize = 512;

/// A packed capture, or the tar stream in it: chance does not get past two kinds of checksums, so a bare stream is given
/// the right ones. What can be read at all must come back the same from a capture of our own.
fn capture_tar(data: &[u8]) {
    let read = if data.starts_with(GZIP_MAGIC) {
        unpack(data)
    } else {
        let mut stream = data.to_vec();
        correct_checksums(&mut stream);
        let mut packed = GzEncoder::new(Vec::new(), Compression::none());
        match packed.write_all(&stream).and_then(|()| packed.finish()) {
            Ok(packed) => unpack(&packed),
            Err(_) => return,
        }
    };
    if let Ok(raw) = read {
        let packed = pack(&raw).ok();
        let again = packed.and_then(|packed| unpack(&packed).ok());
        assert_eq!(again.as_ref(), Some(&raw), "read, written, read");
    }
}

fn correct_checksums(stream: &mut [u8]) {
    let mut at = 0;
    while let Some(block) = stream.get_mut(at..at + BLOCK) {
        let mut header = Header::new_old();
        header.as_mut_bytes().copy_from_slice(block);
        let size = header.entry_size().unwrap_or(0).min(MAX_STREAM);
        if block.iter().any(|byte| *byte != 0) {
            header.set_cksum();
            block.copy_from_slice(header.as_bytes());
        }
        at += BLOCK + usize::try_from(size).unwrap_or(0).next_multiple_of(BLOCK);
    }
}
