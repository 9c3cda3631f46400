//! Short content hashes for names.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The first 8 bytes as hexadecimal: enough to tell recipes apart, short enough for a path.
pub(crate) fn short(hasher: Sha256) -> String {
    hasher
        .finalize()
        .iter()
        .take(8)
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

pub(crate) fn short_of(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    short(hasher)
}
