//! Length, kind, bytes.

use std::io::{self, ErrorKind, Read};

/// Longer ones are an error, not memory.
const MAX_FRAME: usize = 4 << 20;
const HEADER: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// To the worker: a question, and the end of the one that it works on.
    Ask,
    Stop,
    /// From the worker.
    Event,
    Answer,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Ask, Self::Stop, Self::Event, Self::Answer];
}

pub(super) fn encode(kind: Kind, body: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(body.len())
        .ok()
        .filter(|_| body.len() <= MAX_FRAME)
        .ok_or_else(too_long)?;
    let mut frame = Vec::with_capacity(HEADER + body.len());
    frame.extend(length.to_le_bytes());
    frame.push(kind as u8);
    frame.extend(body);
    Ok(frame)
}

/// Nothing at the end of the input.
pub(super) fn read(input: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let mut header = [0; HEADER];
    if input.read(&mut header[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut header[1..])?;
    let [a, b, c, d, kind] = header;
    let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if length > MAX_FRAME {
        return Err(too_long());
    }
    let kind = Kind::ALL.get(usize::from(kind)).copied();
    let kind = kind.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "an unknown frame"))?;
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some((kind, body)))
}

fn too_long() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "a frame of more than 4 MiB")
}
