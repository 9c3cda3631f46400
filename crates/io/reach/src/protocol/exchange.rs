//! One call, as the controller sees it.

use thiserror::Error;

use super::{Answer, Event, Failure, Frame, FrameError, FromAgent, Kind};

/// Longest answer. A large machine's packed capture has some 2 MiB.
const MAX_ANSWER: usize = 64 << 20;

/// A call under way: takes frames, gives the answer.
#[derive(Debug)]
pub struct Exchange {
    id: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Part of a longer answer.
    More,
    Event(Event),
    Pong,
    Done(Result<(Answer, Vec<u8>), Failure>),
}

/// What no agent of ours would say.
#[derive(Debug, Error)]
pub enum ProtocolError {
    #[error("it sent {0}")]
    Frame(#[from] FrameError),
    #[error("it sent a message that makes no sense")]
    Message(#[source] serde_json::Error),
    #[error("it answered call {found} and was asked call {expected}")]
    WrongCall { expected: u64, found: u64 },
    #[error("its answer is longer than {} MiB", MAX_ANSWER >> 20)]
    TooLong,
    #[error("it announced {announced} bytes and sent {came}")]
    Length { announced: u64, came: usize },
}

impl Exchange {
    pub fn new(id: u64) -> Self {
        Self {
            id,
            bytes: Vec::new(),
        }
    }

    pub fn take(&mut self, frame: &Frame) -> Result<Step, ProtocolError> {
        match frame.kind {
            Kind::Bytes => self.take_bytes(frame),
            Kind::Message => {
                let message =
                    serde_json::from_slice(&frame.payload).map_err(ProtocolError::Message)?;
                self.take_message(message)
            }
        }
    }

    fn take_bytes(&mut self, frame: &Frame) -> Result<Step, ProtocolError> {
        let (id, data) = frame.bytes().ok_or(FrameError::Empty)?;
        self.check(id)?;
        if self.bytes.len() + data.len() > MAX_ANSWER {
            return Err(ProtocolError::TooLong);
        }
        self.bytes.extend_from_slice(data);
        Ok(Step::More)
    }

    fn take_message(&mut self, message: FromAgent) -> Result<Step, ProtocolError> {
        match message {
            FromAgent::Pong => Ok(Step::Pong),
            FromAgent::Event { id, event } => {
                self.check(id)?;
                Ok(Step::Event(event))
            }
            FromAgent::Done { id, result } => {
                self.check(id)?;
                let bytes = std::mem::take(&mut self.bytes);
                if let Ok(answer) = &result {
                    let announced = match answer {
                        Answer::Collected { bytes } => *bytes,
                        Answer::Hello(_)
                        | Answer::Trusted(_)
                        | Answer::Cabling(_)
                        | Answer::Changed(_) => 0,
                    };
                    let came = bytes.len();
                    if announced != came as u64 {
                        return Err(ProtocolError::Length { announced, came });
                    }
                }
                Ok(Step::Done(result.map(|answer| (answer, bytes))))
            }
        }
    }

    fn check(&self, found: u64) -> Result<(), ProtocolError> {
        let expected = self.id;
        if found == expected {
            return Ok(());
        }
        Err(ProtocolError::WrongCall { expected, found })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Frames, encode, encode_bytes, encode_message};
    use super::*;

    fn steps(stream: &[u8]) -> Vec<Result<Step, ProtocolError>> {
        let mut frames = Frames::default();
        frames.push(stream);
        let mut exchange = Exchange::new(7);
        let mut steps = Vec::new();
        while let Some(frame) = frames.next_frame().unwrap() {
            steps.push(exchange.take(&frame));
        }
        steps
    }

    fn done(id: u64, bytes: u64) -> Vec<u8> {
        let result = Ok(Answer::Collected { bytes });
        encode_message(&FromAgent::Done { id, result }).unwrap()
    }

    #[test]
    fn a_long_answer_is_put_together() {
        let stream = [
            encode_message(&FromAgent::Pong).unwrap(),
            encode_bytes(7, b"one").unwrap(),
            encode_bytes(7, b"two").unwrap(),
            done(7, 6),
        ]
        .concat();
        let last = steps(&stream).pop().unwrap().unwrap();
        let answer = Answer::Collected { bytes: 6 };
        assert_eq!(last, Step::Done(Ok((answer, b"onetwo".to_vec()))));
    }

    #[test]
    fn lies_are_named() {
        let last = |stream: &[u8]| steps(stream).pop().unwrap().unwrap_err().to_string();
        assert_eq!(last(&done(8, 0)), "it answered call 8 and was asked call 7");
        assert_eq!(last(&done(7, 1)), "it announced 1 bytes and sent 0");
        let junk = encode(Kind::Message, b"{").unwrap();
        assert_eq!(last(&junk), "it sent a message that makes no sense");
        let foreign = encode_bytes(8, b"data").unwrap();
        assert!(last(&foreign).contains("call 8"));
        let endless = encode_bytes(7, &vec![0; 7 << 20]).unwrap().repeat(10);
        assert_eq!(last(&endless), "its answer is longer than 64 MiB");
    }
}
