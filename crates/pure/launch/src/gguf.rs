//! The beginning of a GGUF file: how many layers a model has. Untrusted input: every length is checked before it is used.
//!
//! Layout: magic, version, number of tensors, number of pairs, then pairs of a name and a typed value (ggml's `docs/gguf.md`).

const MAGIC: &[u8] = b"GGUF";
/// Longest name that is looked at; the format allows 65535 bytes.
const MAX_NAME: u64 = 65_535;
/// Of one file.
const MAX_PAIRS: u64 = 1 << 16;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GgufHeader {
    /// `llama`, `qwen3`, …
    pub architecture: Option<String>,
    pub layers: Option<u32>,
}

/// What the first bytes of a file tell. `None`: it is no GGUF file. Arrays of words may be longer than what was read: what
/// comes after them is unknown then.
pub fn header(bytes: &[u8]) -> Option<GgufHeader> {
    let mut reader = Reader(bytes.strip_prefix(MAGIC)?);
    let version = reader.u32()?;
    // Version 1 had shorter lengths, and nobody writes it any more.
    if !(2..=16).contains(&version) {
        return None;
    }
    reader.u64()?;
    let pairs = reader.u64()?.min(MAX_PAIRS);
    let mut header = GgufHeader::default();
    for _ in 0..pairs {
        if reader.pair(&mut header).is_none() {
            break;
        }
        if header.layers.is_some() && header.architecture.is_some() {
            break;
        }
    }
    Some(header)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.u64()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).ok()
    }

    fn pair(&mut self, header: &mut GgufHeader) -> Option<()> {
        let length = self.u64().filter(|length| *length <= MAX_NAME)?;
        let name = std::str::from_utf8(self.take(length)?).ok()?;
        let kind = self.u32()?;
        match (name, kind) {
            ("general.architecture", 8) => header.architecture = Some(self.text()?.to_owned()),
            (name, 4 | 5) if name.ends_with(".block_count") => header.layers = Some(self.u32()?),
            (name, 10 | 11) if name.ends_with(".block_count") => {
                header.layers = u32::try_from(self.u64()?).ok();
            }
            (_, kind) => self.skip(kind)?,
        }
        Some(())
    }

    fn skip(&mut self, kind: u32) -> Option<()> {
        if kind == 8 {
            let length = self.u64()?;
            return self.take(length).map(drop);
        }
        if kind != 9 {
            return self.take(width(kind)?).map(drop);
        }
        let (kind, count) = (self.u32()?, self.u64()?);
        match kind {
            8 => {
                for _ in 0..count {
                    let length = self.u64()?;
                    self.take(length)?;
                }
                Some(())
            }
            kind => self.take(width(kind)?.checked_mul(count)?).map(drop),
        }
    }
}

/// Bytes of a value that has a fixed size.
fn width(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
    }

    fn file() -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend(10u64.to_le_bytes());
        bytes.extend(4u64.to_le_bytes());
        bytes.extend(text("general.architecture"));
        bytes.extend(8u32.to_le_bytes());
        bytes.extend(text("llama"));
        bytes.extend(text("tokenizer.ggml.tokens"));
        bytes.extend(9u32.to_le_bytes());
        bytes.extend(8u32.to_le_bytes());
        bytes.extend(2u64.to_le_bytes());
        bytes.extend(text("a"));
        bytes.extend(text("b"));
        bytes.extend(text("general.file_type"));
        bytes.extend(4u32.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(text("llama.block_count"));
        bytes.extend(4u32.to_le_bytes());
        bytes.extend(8u32.to_le_bytes());
        bytes
    }

    #[test]
    fn layers_are_found_behind_words() {
        let header = header(&file()).unwrap();
        assert_eq!(header.architecture.as_deref(), Some("llama"));
        assert_eq!(header.layers, Some(8));
    }

    #[test]
    fn what_was_cut_off_is_unknown() {
        let whole = file();
        let cut = header(&whole[..whole.len() - 2]).unwrap();
        assert_eq!(cut.layers, None);
        assert_eq!(header(b"GGUF"), None);
        assert_eq!(header(b"PK\x03\x04"), None);
    }

    proptest! {
        #[test]
        fn nothing_in_a_file_panics(at in 0usize..200, byte: u8, end in 0usize..300) {
            let mut bytes = file();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(end);
            let _ = header(&bytes);
        }
    }
}
