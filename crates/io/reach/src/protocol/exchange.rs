//! The calls of one session, as the controller sees them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use thiserror::Error;

use super::{AgentFrame, AgentFrameKind, CallFailure, FrameError, FromAgent};

/// Bytes of a stream that may be on their way before the receiver has granted any.
pub const STREAM_WINDOW: u64 = 1 << 20;

/// Longest event.
pub const MAX_EVENT: usize = 64 << 10;

/// Calls in flight per session.
pub const MAX_CALLS: usize = 1024;

/// Takes frames, and says which call each is for.
#[derive(Debug, Default)]
pub struct CallExchange {
    /// Open calls, and how many bytes of a stream each may still receive.
    open: BTreeMap<u64, u64>,
    /// Calls that nobody waits for any more, and whose last word has not come.
    abandoned: BTreeSet<u64>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum ExchangeEvent {
    Pong,
    Event {
        id: u64,
        event: Vec<u8>,
    },
    /// Part of a stream.
    Stream {
        id: u64,
        bytes: Vec<u8>,
    },
    Done {
        id: u64,
        result: Result<Vec<u8>, CallFailure>,
    },
    /// For a call that was abandoned.
    Ignored,
}

/// What no agent of this build sends.
#[derive(Debug, Clone, Error)]
pub enum ProtocolError {
    #[error("it sent {0}")]
    Frame(#[from] FrameError),
    #[error("it sent a message that cannot be read")]
    Message(#[source] Arc<serde_json::Error>),
    #[error("it sent something for call {id}, which is not open")]
    NotOpen { id: u64 },
    #[error("it sent an event of {length} bytes; {MAX_EVENT} is the most")]
    LongEvent { length: usize },
    #[error("it sent {excess} bytes more of a stream than it may")]
    NoCredit { excess: u64 },
}

impl CallExchange {
    pub fn begin(&mut self, id: u64) {
        self.open.insert(id, STREAM_WINDOW);
    }

    pub fn grant(&mut self, id: u64, bytes: u64) {
        if let Some(credit) = self.open.get_mut(&id) {
            *credit = credit.saturating_add(bytes);
        }
    }

    /// What still comes for it is ignored. Whether it was open.
    pub fn abandon(&mut self, id: u64) -> bool {
        let was_open = self.open.remove(&id).is_some();
        if was_open {
            self.abandoned.insert(id);
        }
        was_open
    }

    pub fn take(&mut self, frame: &AgentFrame) -> Result<ExchangeEvent, ProtocolError> {
        match frame.kind {
            AgentFrameKind::Bytes => {
                let (id, bytes) = frame.bytes().ok_or(FrameError::Empty)?;
                self.take_bytes(id, bytes)
            }
            AgentFrameKind::Message => {
                let message = frame.message();
                let (message, body) =
                    message.map_err(|error| ProtocolError::Message(Arc::new(error)))?;
                self.take_message(message, body)
            }
        }
    }

    fn take_bytes(&mut self, id: u64, bytes: &[u8]) -> Result<ExchangeEvent, ProtocolError> {
        let Some(credit) = self.open.get_mut(&id) else {
            return self.ignored(id);
        };
        let length = bytes.len() as u64;
        if length > *credit {
            let excess = length - *credit;
            return Err(ProtocolError::NoCredit { excess });
        }
        *credit -= length;
        let bytes = bytes.to_vec();
        Ok(ExchangeEvent::Stream { id, bytes })
    }

    fn take_message(
        &mut self,
        message: FromAgent,
        body: &[u8],
    ) -> Result<ExchangeEvent, ProtocolError> {
        match message {
            FromAgent::Pong => Ok(ExchangeEvent::Pong),
            FromAgent::Event { .. } if body.len() > MAX_EVENT => {
                let length = body.len();
                Err(ProtocolError::LongEvent { length })
            }
            FromAgent::Event { id } if self.open.contains_key(&id) => {
                let event = body.to_vec();
                Ok(ExchangeEvent::Event { id, event })
            }
            FromAgent::Event { id } => self.ignored(id),
            FromAgent::Answer { id } => self.end(id, Ok(body)),
            FromAgent::Failed { id, failure } => self.end(id, Err(failure)),
        }
    }

    fn end(
        &mut self,
        id: u64,
        result: Result<&[u8], CallFailure>,
    ) -> Result<ExchangeEvent, ProtocolError> {
        if self.open.remove(&id).is_some() {
            let result = result.map(<[u8]>::to_vec);
            return Ok(ExchangeEvent::Done { id, result });
        }
        let ignored = self.ignored(id);
        self.abandoned.remove(&id);
        ignored
    }

    fn ignored(&self, id: u64) -> Result<ExchangeEvent, ProtocolError> {
        if self.abandoned.contains(&id) {
            return Ok(ExchangeEvent::Ignored);
        }
        Err(ProtocolError::NotOpen { id })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AgentFrameReader, encode, encode_bytes, encode_message};
    use super::*;

    fn steps(stream: &[u8]) -> Vec<Result<ExchangeEvent, ProtocolError>> {
        let mut frames = AgentFrameReader::default();
        frames.push(stream);
        let mut exchange = CallExchange::default();
        exchange.begin(7);
        exchange.begin(9);
        exchange.begin(11);
        exchange.abandon(11);
        let mut steps = Vec::new();
        while let Some(frame) = frames.next_frame().unwrap() {
            steps.push(exchange.take(&frame));
        }
        steps
    }

    fn answer(id: u64) -> Vec<u8> {
        encode_message(&FromAgent::Answer { id }, b"42\n").unwrap()
    }

    #[test]
    fn what_comes_is_told_apart_by_call() {
        let stream = [
            encode_message(&FromAgent::Pong, b"").unwrap(),
            encode_bytes(9, b"one").unwrap(),
            encode_message(&FromAgent::Event { id: 7 }, b"half").unwrap(),
            encode_bytes(11, b"late").unwrap(),
            answer(11),
            answer(7),
            answer(9),
        ];
        let steps: Vec<ExchangeEvent> = steps(&stream.concat())
            .into_iter()
            .map(Result::unwrap)
            .collect();
        let done = |id| ExchangeEvent::Done {
            id,
            result: Ok(b"42\n".to_vec()),
        };
        let expected = [
            ExchangeEvent::Pong,
            ExchangeEvent::Stream {
                id: 9,
                bytes: b"one".to_vec(),
            },
            ExchangeEvent::Event {
                id: 7,
                event: b"half".to_vec(),
            },
            ExchangeEvent::Ignored,
            ExchangeEvent::Ignored,
            done(7),
            done(9),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn lies_are_named() {
        let last = |stream: &[u8]| steps(stream).pop().unwrap().unwrap_err().to_string();
        let not_open = "it sent something for call 8, which is not open";
        assert_eq!(last(&answer(8)), not_open);
        assert_eq!(last(&encode_bytes(8, b"data").unwrap()), not_open);
        let twice = [answer(7), answer(7)].concat();
        assert!(last(&twice).contains("call 7"));
        let twice = [answer(11), answer(11)].concat();
        assert!(last(&twice).contains("call 11"));
        let junk = encode(AgentFrameKind::Message, b"{").unwrap();
        assert_eq!(last(&junk), "it sent a message that cannot be read");
        let long = encode_message(&FromAgent::Event { id: 7 }, &vec![0; MAX_EVENT + 1]).unwrap();
        assert!(last(&long).contains("an event of 65537 bytes"));
        let endless = encode_bytes(7, &vec![0; 300 << 10]).unwrap().repeat(4);
        assert!(last(&endless).contains("more of a stream"));
    }
}
