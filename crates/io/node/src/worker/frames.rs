//! What a worker and its holder say to each other.

use std::io::{self, Read};

use crate::frame::{self, FrameKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerFrameKind {
    /// To the worker: a question, and the end of the one that it works on.
    Request,
    Stop,
    /// From the worker.
    Event,
    Answer,
}

impl FrameKind for WorkerFrameKind {
    fn of(number: u8) -> Option<Self> {
        let all = [Self::Request, Self::Stop, Self::Event, Self::Answer];
        all.into_iter().find(|kind| kind.number() == number)
    }

    fn number(self) -> u8 {
        self as u8
    }
}

pub(super) fn encode(kind: WorkerFrameKind, body: &[u8]) -> io::Result<Vec<u8>> {
    Ok(frame::encode(kind, body)?)
}

/// Nothing at the end of the input.
pub(super) fn read(input: &mut impl Read) -> io::Result<Option<(WorkerFrameKind, Vec<u8>)>> {
    frame::read(input)
}
