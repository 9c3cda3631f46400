//! Netlink messages kept as they came, so that what this tool has no name for survives byte for byte.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::netlink::message::{u16_at, u32_at};

/// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` are kept, and left out when attributes are compared by type.
const TYPE_MASK: u16 = 0x3fff;
const ATTRIBUTE_HEADER: usize = 4;

/// The body of a message: its family's fixed header, and attributes with the flags of their types.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RawMessage {
    pub(super) header: Vec<u8>,
    pub(super) attributes: Vec<(u16, Vec<u8>)>,
}

/// Bytes that stand as hexadecimal digits in a journal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HexBytes(pub(super) Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not an even number of hexadecimal digits")]
pub struct HexBytesError;

impl RawMessage {
    pub(super) fn new(header: &[u8]) -> Self {
        Self {
            header: header.to_vec(),
            attributes: Vec::new(),
        }
    }

    /// What is cut short ends the reading. `None` where not even the header is whole.
    pub(super) fn parse(body: &[u8], header: usize) -> Option<Self> {
        Some(Self {
            header: body.get(..header)?.to_vec(),
            attributes: attributes(body.get(header..)?),
        })
    }

    pub(super) fn body(&self) -> Vec<u8> {
        let mut body = self.header.clone();
        encode(&self.attributes, &mut body);
        body
    }

    pub(super) fn get(&self, kind: u16) -> Option<&[u8]> {
        let found = self
            .attributes
            .iter()
            .find(|(found, _)| found & TYPE_MASK == kind);
        found.map(|(_, data)| data.as_slice())
    }

    pub(super) fn u8(&self, kind: u16) -> Option<u8> {
        self.get(kind)?.first().copied()
    }

    pub(super) fn u32(&self, kind: u16) -> Option<u32> {
        u32_at(self.get(kind)?, 0)
    }

    pub(super) fn header_u8(&self, offset: usize) -> u8 {
        self.header.get(offset).copied().unwrap_or_default()
    }

    pub(super) fn header_u32(&self, offset: usize) -> u32 {
        u32_at(&self.header, offset).unwrap_or_default()
    }

    pub(super) fn set_header_u32(&mut self, offset: usize, value: u32) {
        if let Some(field) = self.header.get_mut(offset..offset.saturating_add(4)) {
            field.copy_from_slice(&value.to_ne_bytes());
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(u16) -> bool) {
        self.attributes.retain(|(kind, _)| keep(kind & TYPE_MASK));
    }

    /// In the place where it is, or at the end.
    pub(super) fn set(&mut self, kind: u16, data: &[u8]) {
        let found = self
            .attributes
            .iter_mut()
            .find(|(found, _)| *found & TYPE_MASK == kind);
        match found {
            Some((_, old)) => *old = data.to_vec(),
            None => self.attributes.push((kind, data.to_vec())),
        }
    }

    pub(super) fn with(mut self, kind: u16, data: &[u8]) -> Self {
        self.set(kind, data);
        self
    }
}

pub(super) fn attributes(mut rest: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let length = usize::from(length);
        let Some(data) = rest.get(ATTRIBUTE_HEADER..length) else {
            break;
        };
        found.push((kind, data.to_vec()));
        rest = rest.get(aligned(length)..).unwrap_or_default();
    }
    found
}

pub(super) fn encode(attributes: &[(u16, Vec<u8>)], into: &mut Vec<u8>) {
    for (kind, data) in attributes {
        let length = u16::try_from(ATTRIBUTE_HEADER + data.len()).unwrap_or(u16::MAX);
        into.extend(length.to_ne_bytes());
        into.extend(kind.to_ne_bytes());
        into.extend_from_slice(data);
        into.resize(aligned(into.len()), 0);
    }
}

fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

impl From<HexBytes> for String {
    fn from(bytes: HexBytes) -> Self {
        digits(&bytes.0)
    }
}

impl TryFrom<String> for HexBytes {
    type Error = HexBytesError;

    fn try_from(text: String) -> Result<Self, HexBytesError> {
        bytes(&text).map(Self)
    }
}

/// The header, and after a space the attributes.
impl From<RawMessage> for String {
    fn from(message: RawMessage) -> Self {
        let mut behind = Vec::new();
        encode(&message.attributes, &mut behind);
        format!("{} {}", digits(&message.header), digits(&behind))
    }
}

impl TryFrom<String> for RawMessage {
    type Error = HexBytesError;

    fn try_from(text: String) -> Result<Self, HexBytesError> {
        let (header, behind) = text.split_once(' ').unwrap_or((&text, ""));
        Ok(Self {
            header: bytes(header)?,
            attributes: attributes(&bytes(behind)?),
        })
    }
}

fn digits(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    halves
        .filter_map(|half| char::from_digit(half.into(), 16))
        .collect()
}

fn bytes(digits: &str) -> Result<Vec<u8>, HexBytesError> {
    let digits: Option<Vec<u8>> = digits
        .chars()
        .map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    let digits = digits.ok_or(HexBytesError)?;
    if digits.len() % 2 != 0 {
        return Err(HexBytesError);
    }
    Ok(digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_survives_a_journal() {
        let message = RawMessage::new(&[2, 24, 0, 0])
            .with(1 | 1 << 15, &[1, 2, 3])
            .with(4, &7_u32.to_ne_bytes());
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<RawMessage>(&text).unwrap(), message);
        let again = RawMessage::parse(&message.body(), 4).unwrap();
        assert_eq!(again, message);
        assert_eq!((again.u32(4), again.u8(1)), (Some(7), Some(1)));
        assert!(serde_json::from_str::<RawMessage>("\"0g\"").is_err());
        assert!(serde_json::from_str::<HexBytes>("\"012\"").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(body in proptest::collection::vec(any::<u8>(), 0..200), text: String) {
            if let Some(message) = RawMessage::parse(&body, 12) {
                prop_assert_eq!(RawMessage::parse(&message.body(), 12), Some(message));
            }
            let _ = RawMessage::try_from(text);
        }
    }
}
