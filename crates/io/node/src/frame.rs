//! Frames, to and from bytes: a length, a kind, a payload. For agents over ssh and for workers over pipes.

use std::io::{self, ErrorKind, Read};

use thiserror::Error;

/// Longest frame, kind and payload together.
pub const MAX_FRAME: usize = 8 << 20;

/// Bytes of the length.
const HEADER: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    #[error("a frame of {length} bytes; {MAX_FRAME} is the most")]
    TooLarge { length: usize },
    #[error("an empty frame")]
    Empty,
    #[error("a frame of the unknown kind {0}")]
    Kind(u8),
}

impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> Self {
        Self::new(ErrorKind::InvalidData, error)
    }
}

/// What a frame can be.
pub trait FrameKind: Copy {
    /// `None` for a number that none of them has.
    fn of(number: u8) -> Option<Self>;
    fn number(self) -> u8;
}

pub fn encode(kind: impl FrameKind, payload: &[u8]) -> Result<Vec<u8>, FrameError> {
    let length = payload.len() + 1;
    let header = u32::try_from(length).ok().filter(|_| length <= MAX_FRAME);
    let header = header.ok_or(FrameError::TooLarge { length })?;
    let mut frame = Vec::with_capacity(HEADER + length);
    frame.extend_from_slice(&header.to_be_bytes());
    frame.push(kind.number());
    frame.extend_from_slice(payload);
    Ok(frame)
}

/// Of kind and payload together.
fn length_of(header: [u8; HEADER]) -> Result<usize, FrameError> {
    match u32::from_be_bytes(header) as usize {
        0 => Err(FrameError::Empty),
        length if length > MAX_FRAME => Err(FrameError::TooLarge { length }),
        length => Ok(length),
    }
}

/// Waits for a whole frame. Nothing at the end of the input.
pub fn read<K: FrameKind>(input: &mut impl Read) -> io::Result<Option<(K, Vec<u8>)>> {
    let mut header = [0; HEADER];
    if input.read(&mut header[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut header[1..])?;
    let length = length_of(header)?;
    let mut number = [0];
    input.read_exact(&mut number)?;
    let kind = K::of(number[0]).ok_or(FrameError::Kind(number[0]))?;
    let mut payload = Vec::new();
    let rest = length - 1;
    input.take(rest as u64).read_to_end(&mut payload)?;
    if payload.len() < rest {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind, payload)))
}

/// Takes bytes as they come and gives whole frames. Memory is spent on bytes that came, never on a length that was claimed.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    buffer: Vec<u8>,
    /// Where the next frame starts.
    start: usize,
}

impl FrameBuffer {
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// After an error there is no telling where a frame would start.
    pub fn next_frame<K: FrameKind>(&mut self) -> Result<Option<(K, Vec<u8>)>, FrameError> {
        let waiting = &self.buffer[self.start..];
        let Some((header, rest)) = waiting.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = length_of(*header)?;
        let Some(number) = rest.first() else {
            return Ok(None);
        };
        let kind = K::of(*number).ok_or(FrameError::Kind(*number))?;
        let Some(payload) = rest.get(1..length) else {
            return Ok(None);
        };
        let payload = payload.to_vec();
        self.start += HEADER + length;
        Ok(Some((kind, payload)))
    }

    /// Whether it stopped inside a frame.
    pub fn is_partial(&self) -> bool {
        self.start < self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Odd(u8);

    impl FrameKind for Odd {
        fn of(number: u8) -> Option<Self> {
            (number % 2 == 1).then_some(Self(number))
        }

        fn number(self) -> u8 {
            self.0
        }
    }

    #[test]
    fn both_readers_agree() {
        for bytes in [
            encode(Odd(1), b"one").unwrap(),
            encode(Odd(255), b"").unwrap(),
            vec![0, 0, 0, 0],
            vec![255; 5],
            vec![0, 0, 0, 1, 2],
        ] {
            let mut buffer = FrameBuffer::default();
            buffer.push(&bytes);
            let buffered = buffer
                .next_frame::<Odd>()
                .map_err(|error| error.to_string());
            let waited = read::<Odd>(&mut &bytes[..]).map_err(|error| error.to_string());
            assert_eq!(buffered, waited, "{bytes:?}");
        }
        assert_eq!(read::<Odd>(&mut &b""[..]).unwrap(), None);
        let cut = &encode(Odd(3), b"three").unwrap()[..7];
        assert!(read::<Odd>(&mut &cut[..]).is_err());
    }
}
