//! What a message holds: every eight bytes follow from its number and their place in it, so that a message in another's place,
//! or a piece of one, is seen.

use crosstie_verbs::{MemoryRegion, OutOfRange};

const WORD_BYTES: usize = size_of::<u64>();
/// Bytes that are copied at once.
const COPY_BYTES: usize = 8 * 1024;

/// `SplitMix64`'s mixing, of both numbers.
fn word(message: u64, index: u64) -> u64 {
    let mut mixed =
        message.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index.wrapping_mul(0xd1b5_4a32_d192_ed03);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// What lies from byte `offset`, a multiple of eight, of a message.
fn expected(message: u64, offset: usize, into: &mut [u8]) {
    for (index, bytes) in (offset / WORD_BYTES..).zip(into.chunks_mut(WORD_BYTES)) {
        let word = word(message, index as u64).to_le_bytes();
        bytes.copy_from_slice(&word[..bytes.len()]);
    }
}

/// Puts a message there.
pub(super) fn fill(
    memory: &MemoryRegion,
    place: u64,
    size: u32,
    message: u64,
) -> Result<(), OutOfRange> {
    let mut chunk = [0; COPY_BYTES];
    for_chunks(place, size, |place, offset, length| {
        expected(message, offset, &mut chunk[..length]);
        memory.write(place, &chunk[..length])
    })
}

/// Bytes there that are not the message's.
pub(super) fn count_wrong(
    memory: &MemoryRegion,
    place: u64,
    size: u32,
    message: u64,
) -> Result<u64, OutOfRange> {
    let (mut wanted, mut found) = ([0; COPY_BYTES], [0; COPY_BYTES]);
    let mut wrong = 0;
    for_chunks(place, size, |place, offset, length| {
        expected(message, offset, &mut wanted[..length]);
        memory.read(place, &mut found[..length])?;
        let (wanted, found) = (&wanted[..length], &found[..length]);
        if wanted != found {
            let differs = wanted
                .iter()
                .zip(found)
                .filter(|(wanted, found)| wanted != found);
            wrong += differs.count() as u64;
        }
        Ok(())
    })?;
    Ok(wrong)
}

/// Each piece's place in memory, its offset in the message, and its length.
fn for_chunks(
    place: u64,
    size: u32,
    mut work: impl FnMut(usize, usize, usize) -> Result<(), OutOfRange>,
) -> Result<(), OutOfRange> {
    // The region is as long as its layout, and was made in memory.
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    let size = size as usize;
    for offset in (0..size).step_by(COPY_BYTES) {
        work(
            place.saturating_add(offset),
            offset,
            COPY_BYTES.min(size - offset),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_places_differ() {
        let bytes = |message, offset, length| {
            let mut bytes = vec![0; length];
            expected(message, offset, &mut bytes);
            bytes
        };
        let whole = bytes(7, 0, 4099);
        assert_eq!(whole[4096..], bytes(7, 4096, 3));
        assert_ne!(whole[..4096], bytes(8, 0, 4096));
        // A piece that is moved by eight bytes, or is another message's, is wrong nearly everywhere.
        let equal = |other: &[u8]| whole.iter().zip(other).filter(|(a, b)| a == b).count();
        assert!(equal(&whole[8..]) < 64);
        assert!(equal(&bytes(8, 0, 4099)) < 64);
        assert!(equal(&vec![0; 4099]) < 64);
    }
}
