//! The seal of a line: a digest of everything up to it.
//!
//! It shows damage and edits. It is no signature: whoever has the program can make another file.

use sha2::{Digest, Sha256};

/// Hex digits of a seal: 64 bits.
const DIGITS: usize = 16;
const BEFORE: &str = r#"{"seal":""#;
const BETWEEN: &str = r#"","run":"#;
const AFTER: &str = "}";

/// The seal of the line before; of nothing for the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SealChain(String);

/// A line that is none of ours, or is not as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrokenSeal {
    NotSealed,
    Differs,
}

impl SealChain {
    /// The whole line for a record's JSON, with its end.
    pub(super) fn seal(&mut self, json: &str) -> String {
        self.0 = self.next(json);
        format!("{BEFORE}{}{BETWEEN}{json}{AFTER}\n", self.0)
    }

    /// The record's JSON of a line, whose end is already taken off.
    pub(super) fn open<'a>(&mut self, line: &'a str) -> Result<&'a str, BrokenSeal> {
        let (seal, json) = parts(line).ok_or(BrokenSeal::NotSealed)?;
        let expected = self.next(json);
        if seal != expected {
            return Err(BrokenSeal::Differs);
        }
        self.0 = expected;
        Ok(json)
    }

    fn next(&self, json: &str) -> String {
        let digest = Sha256::new()
            .chain_update(&self.0)
            .chain_update(json)
            .finalize();
        let mut seal = format!("{digest:x}");
        seal.truncate(DIGITS);
        seal
    }
}

fn parts(line: &str) -> Option<(&str, &str)> {
    let (seal, rest) = line.strip_prefix(BEFORE)?.split_at_checked(DIGITS)?;
    let json = rest.strip_prefix(BETWEEN)?.strip_suffix(AFTER)?;
    Some((seal, json))
}
