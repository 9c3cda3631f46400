//! The frame that a port says its name with.
//!
//! ```text
//! destination  source  0x88b5 | magic  version  token  node  port  sequence | HMAC-SHA-256 of the middle part
//!           6       6       2 |     4        1     16     2     2         4 | 32
//! ```
//!
//! Numbers are big endian. Token and key are new in every run, so a frame of another run, or of somebody else's, is a
//! stranger's: it is counted and never believed.

use std::fmt;

use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// IEEE Std 802 local experimental `EtherType` 1: for what stays within a site.
pub const ETHERTYPE: u16 = 0x88b5;

/// A switch passes it to every port, and no host has to join a group to hear it.
pub const BROADCAST: [u8; 6] = [0xff; 6];

const MAGIC: [u8; 4] = *b"XTIE";
const VERSION: u8 = 1;
const HEADER: usize = 14;
const SIGNED: usize = 4 + 1 + 16 + 2 + 2 + 4;
const TAG: usize = 32;

/// Length of the whole frame. It is above Ethernet's least, so nothing is added to it on the way.
pub const FRAME: usize = HEADER + SIGNED + TAG;

/// Bytes that travel to agents as hexadecimal digits.
macro_rules! hexadecimal {
    ($name:ident, $length:literal) => {
        impl TryFrom<String> for $name {
            type Error = CablingKeyParseError;
            fn try_from(text: String) -> Result<Self, CablingKeyParseError> {
                let mut bytes = [0; $length];
                let digits = text.as_bytes();
                if digits.len() != 2 * $length {
                    return Err(CablingKeyParseError);
                }
                for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
                    let value =
                        |digit: u8| char::from(digit).to_digit(16).ok_or(CablingKeyParseError);
                    *byte = u8::try_from(value(pair[0])? << 4 | value(pair[1])?)
                        .map_err(|_| CablingKeyParseError)?;
                }
                Ok(Self(bytes))
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0.iter().map(|byte| format!("{byte:02x}")).collect()
            }
        }
    };
}

#[derive(Debug, thiserror::Error)]
#[error("not as many hexadecimal digits as it should be")]
pub struct CablingKeyParseError;

/// Which run a frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CablingToken(pub [u8; 16]);
hexadecimal!(CablingToken, 16);

impl fmt::Display for CablingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from(*self))
    }
}

/// What proves that a frame is of this run; only its agents have it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CablingKey(pub [u8; 32]);
hexadecimal!(CablingKey, 32);

impl fmt::Debug for CablingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Whose frame it is: the node's number in the run, and the port's in that node's part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FrameSender {
    pub node: u16,
    pub port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodedFrame {
    Ours {
        sender: FrameSender,
        sequence: u32,
    },
    /// It has our `EtherType`, and it is not of this run.
    Stranger,
}

pub fn encode(
    source: [u8; 6],
    token: CablingToken,
    key: &CablingKey,
    sender: FrameSender,
    sequence: u32,
) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    let mut rest = &mut frame[..];
    for part in [
        &BROADCAST[..],
        &source,
        &ETHERTYPE.to_be_bytes(),
        &MAGIC,
        &[VERSION],
        &token.0,
        &sender.node.to_be_bytes(),
        &sender.port.to_be_bytes(),
        &sequence.to_be_bytes(),
    ] {
        let (place, more) = rest.split_at_mut(part.len());
        place.copy_from_slice(part);
        rest = more;
    }
    let tag = authentication(key, &frame[HEADER..HEADER + SIGNED]).finalize();
    frame[HEADER + SIGNED..].copy_from_slice(&tag.into_bytes());
    frame
}

fn authentication(key: &CablingKey, signed: &[u8]) -> Hmac<Sha256> {
    // RFC 2104 fills a short key up with zeros.
    let mut block = [0; 64];
    block[..key.0.len()].copy_from_slice(&key.0);
    Hmac::new(&block.into()).chain_update(signed)
}

/// Reads a whole frame, its Ethernet header included. `None` is a frame that has another `EtherType`.
pub fn decode(frame: &[u8], token: CablingToken, key: &CablingKey) -> Option<DecodedFrame> {
    if frame.get(12..HEADER)? != ETHERTYPE.to_be_bytes() {
        return None;
    }
    Some(read(&frame[HEADER..], token, key).unwrap_or(DecodedFrame::Stranger))
}

fn read(payload: &[u8], token: CablingToken, key: &CablingKey) -> Option<DecodedFrame> {
    let (signed, rest) = payload.split_first_chunk::<SIGNED>()?;
    let tag = rest.first_chunk::<TAG>()?;
    let (magic, fields) = signed.split_first_chunk::<4>()?;
    let (version, fields) = fields.split_first()?;
    let (run, fields) = fields.split_first_chunk::<16>()?;
    let (node, fields) = fields.split_first_chunk::<2>()?;
    let (port, fields) = fields.split_first_chunk::<2>()?;
    let sequence = fields.first_chunk::<4>()?;
    let is_ours = *magic == MAGIC && *version == VERSION && *run == token.0;
    if !is_ours || authentication(key, signed).verify_slice(tag).is_err() {
        return None;
    }
    Some(DecodedFrame::Ours {
        sender: FrameSender {
            node: u16::from_be_bytes(*node),
            port: u16::from_be_bytes(*port),
        },
        sequence: u32::from_be_bytes(*sequence),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

    #[test]
    fn keys_do_not_show_and_travel_as_text() {
        let key = CablingKey([0xab; 32]);
        assert_eq!(format!("{key:?}"), "Key(…)");
        let text = String::from(key.clone());
        assert_eq!(text, "ab".repeat(32));
        assert_eq!(CablingKey::try_from(text).unwrap(), key);
        for wrong in ["", "0", "zz", &"+1".repeat(32), &"ä".repeat(32)] {
            assert!(CablingKey::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_said_is_heard(token: [u8; 16], key: [u8; 32], node: u16, port: u16, sequence: u32, padding in 0..60_usize) {
            let (token, key, sender) = (CablingToken(token), CablingKey(key), FrameSender { node, port });
            let mut frame = encode(MAC, token, &key, sender, sequence).to_vec();
            frame.resize(FRAME + padding, 0);
            prop_assert_eq!(decode(&frame, token, &key), Some(DecodedFrame::Ours { sender, sequence }));
        }

        #[test]
        fn a_changed_bit_makes_a_stranger(bit in HEADER * 8..FRAME * 8) {
            let (token, key) = (CablingToken([1; 16]), CablingKey([2; 32]));
            let mut frame = encode(MAC, token, &key, FrameSender { node: 1, port: 2 }, 3);
            frame[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode(&frame, token, &key), Some(DecodedFrame::Stranger));
        }

        #[test]
        fn other_runs_and_cut_frames_are_strangers(length in HEADER..FRAME) {
            let (token, key) = (CablingToken([1; 16]), CablingKey([2; 32]));
            let frame = encode(MAC, token, &key, FrameSender { node: 1, port: 2 }, 3);
            prop_assert_eq!(decode(&frame[..length], token, &key), Some(DecodedFrame::Stranger));
            prop_assert_eq!(decode(&frame, token, &CablingKey([3; 32])), Some(DecodedFrame::Stranger));
            prop_assert_eq!(decode(&frame, CablingToken([4; 16]), &key), Some(DecodedFrame::Stranger));
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let is_ours = matches!(decode(&bytes, CablingToken([1; 16]), &CablingKey([2; 32])), Some(DecodedFrame::Ours { .. }));
            prop_assert!(!is_ours);
        }
    }
}
