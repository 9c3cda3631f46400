//! Names, which may point into the message that they are in.

use super::DnsError;

/// Longest name as it travels, its lengths counted.
pub const MAX_NAME: usize = 255;

const MAX_LABEL: usize = 63;
const POINTER: u8 = 0b1100_0000;

/// Labels in lower case: names are the same however they are written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DnsName(Vec<Vec<u8>>);

impl DnsName {
    /// A name of our own: labels between dots, none too long.
    pub fn of(text: &str) -> Self {
        let labels = text.split('.').map(|label| {
            let bytes = label.bytes().take(MAX_LABEL);
            bytes.map(|byte| byte.to_ascii_lowercase()).collect()
        });
        Self(labels.collect())
    }

    pub fn labels(&self) -> &[Vec<u8>] {
        &self.0
    }

    pub fn encode(&self, message: &mut Vec<u8>) {
        for label in &self.0 {
            // Never longer than MAX_LABEL.
            message.push(u8::try_from(label.len()).unwrap_or_default());
            message.extend_from_slice(label);
        }
        message.push(0);
    }

    /// The name at `start`, and where the message goes on behind it.
    ///
    /// A pointer has to lead to before the part of the name that it ends, so every jump goes back and there is an end.
    pub(super) fn read(message: &[u8], start: usize) -> Result<(Self, usize), DnsError> {
        let mut labels = Vec::new();
        let mut length = 1;
        let mut at = start;
        let mut part = start;
        let mut after = None;
        loop {
            let first = *message.get(at).ok_or(DnsError::Short)?;
            match first & POINTER {
                0 if first == 0 => {
                    return Ok((Self(labels), after.unwrap_or(at + 1)));
                }
                0 => {
                    let end = at + 1 + usize::from(first);
                    let label = message.get(at + 1..end).ok_or(DnsError::Short)?;
                    length += label.len() + 1;
                    if length > MAX_NAME {
                        return Err(DnsError::LongName);
                    }
                    labels.push(label.to_ascii_lowercase());
                    at = end;
                }
                POINTER => {
                    let low = *message.get(at + 1).ok_or(DnsError::Short)?;
                    let target = usize::from(u16::from_be_bytes([first & !POINTER, low]));
                    if target >= part {
                        return Err(DnsError::Pointer);
                    }
                    after = after.or(Some(at + 2));
                    at = target;
                    part = target;
                }
                _ => return Err(DnsError::Label),
            }
        }
    }
}
