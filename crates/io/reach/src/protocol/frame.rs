//! What controller and agent say to each other, as frames.

use crosstie_node::frame::{self, FrameBuffer, FrameKind};
pub use crosstie_node::frame::{FrameError, MAX_FRAME};
use serde::{Serialize, de::DeserializeOwned};

/// Bytes of the call's number at the start of a bytes frame.
const ID: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentFrameKind {
    /// One message: a line of JSON, then the bytes that belong to it.
    Message = 1,
    /// A part of a stream: the call's number, then its bytes.
    Bytes = 2,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFrame {
    pub kind: AgentFrameKind,
    pub payload: Vec<u8>,
}

impl AgentFrame {
    /// The call and the data of a bytes frame.
    pub fn bytes(&self) -> Option<(u64, &[u8])> {
        let (id, data) = self.payload.split_first_chunk::<ID>()?;
        Some((u64::from_be_bytes(*id), data))
    }

    /// The message and the bytes that belong to it.
    pub fn message<M: DeserializeOwned>(&self) -> Result<(M, &[u8]), serde_json::Error> {
        // JSON text escapes line feeds, so the first one ends it.
        let end = self.payload.iter().position(|byte| *byte == b'\n');
        let (json, body) = match end {
            Some(end) => (&self.payload[..end], &self.payload[end + 1..]),
            None => (&self.payload[..], &[][..]),
        };
        Ok((serde_json::from_slice(json)?, body))
    }
}

impl FrameKind for AgentFrameKind {
    fn of(number: u8) -> Option<Self> {
        let all = [Self::Message, Self::Bytes];
        all.into_iter().find(|kind| *kind as u8 == number)
    }

    fn number(self) -> u8 {
        self as u8
    }
}

pub fn encode(kind: AgentFrameKind, payload: &[u8]) -> Result<Vec<u8>, FrameError> {
    frame::encode(kind, payload)
}

/// A message that cannot be written as JSON does not exist among ours, and is an empty frame if it ever does.
pub fn encode_message(message: &impl Serialize, body: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut payload = serde_json::to_vec(message).map_err(|_| FrameError::Empty)?;
    payload.push(b'\n');
    payload.extend_from_slice(body);
    encode(AgentFrameKind::Message, &payload)
}

pub fn encode_bytes(id: u64, data: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut payload = Vec::with_capacity(ID + data.len());
    payload.extend_from_slice(&id.to_be_bytes());
    payload.extend_from_slice(data);
    encode(AgentFrameKind::Bytes, &payload)
}

/// Takes bytes as they come and gives whole frames.
#[derive(Debug, Default)]
pub struct AgentFrameReader(FrameBuffer);

impl AgentFrameReader {
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.push(bytes);
    }

    /// After an error there is no telling where a frame would start.
    pub fn next_frame(&mut self) -> Result<Option<AgentFrame>, FrameError> {
        let next = self.0.next_frame()?;
        Ok(next.map(|(kind, payload)| AgentFrame { kind, payload }))
    }

    /// Whether it stopped inside a frame.
    pub fn is_partial(&self) -> bool {
        self.0.is_partial()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind() -> impl Strategy<Value = AgentFrameKind> {
        prop_oneof![Just(AgentFrameKind::Message), Just(AgentFrameKind::Bytes)]
    }

    proptest! {
        #[test]
        fn frames_come_back_however_they_are_cut(
            frames in prop::collection::vec((kind(), prop::collection::vec(any::<u8>(), 0..300)), 0..8),
            cuts in prop::collection::vec(1usize..200, 1..20),
        ) {
            let stream: Vec<u8> = frames.iter().flat_map(|(kind, payload)| encode(*kind, payload).unwrap()).collect();
            let mut decoder = AgentFrameReader::default();
            let mut found = Vec::new();
            let mut rest = stream.as_slice();
            let mut cuts = cuts.iter().cycle();
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                decoder.push(chunk);
                rest = after;
                while let Some(frame) = decoder.next_frame().unwrap() {
                    found.push((frame.kind, frame.payload));
                }
            }
            prop_assert_eq!(found, frames);
            prop_assert!(!decoder.is_partial());
        }

        #[test]
        fn junk_never_panics(junk in prop::collection::vec(any::<u8>(), 0..600)) {
            let mut decoder = AgentFrameReader::default();
            decoder.push(&junk);
            while let Ok(Some(_)) = decoder.next_frame() {}
        }
    }

    #[test]
    fn a_huge_frame_is_refused_at_its_length() {
        let mut decoder = AgentFrameReader::default();
        decoder.push(&u32::MAX.to_be_bytes());
        let length = u32::MAX as usize;
        assert_eq!(decoder.next_frame(), Err(FrameError::TooLarge { length }));
        assert_eq!(
            encode(AgentFrameKind::Bytes, &vec![0; MAX_FRAME]),
            Err(FrameError::TooLarge {
                length: MAX_FRAME + 1
            })
        );
        let mut decoder = AgentFrameReader::default();
        decoder.push(&encode(AgentFrameKind::Bytes, &vec![7; MAX_FRAME - 1]).unwrap());
        assert_eq!(
            decoder.next_frame().unwrap().unwrap().payload.len(),
            MAX_FRAME - 1
        );
    }

    #[test]
    fn odd_frames_are_named() {
        for (bytes, expected) in [
            (&[0, 0, 0, 0][..], FrameError::Empty),
            (&[0, 0, 0, 1, 9], FrameError::Kind(9)),
        ] {
            let mut decoder = AgentFrameReader::default();
            decoder.push(bytes);
            assert_eq!(decoder.next_frame(), Err(expected));
        }
    }
}
