use std::{io::Read, thread::JoinHandle};

use crate::protocol::{Answer, Exchange, Failure, Line, Preamble, Step, encode, encode_message};

use super::*;

/// An agent in a thread of this process, at the other end of two pipes.
struct Served {
    input: Option<io::PipeWriter>,
    output: io::PipeReader,
    ended: JoinHandle<Result<(), ServeError>>,
}

fn served(silence: Duration) -> Served {
    let (theirs, input) = io::pipe().unwrap();
    let (output, mut ours) = io::pipe().unwrap();
    let ended = thread::spawn(move || {
        let copy = ours.try_clone().unwrap();
        let result = serve(theirs, copy, "00ff", silence);
        ours.flush().unwrap();
        result
    });
    Served {
        input: Some(input),
        output,
        ended,
    }
}

impl Served {
    fn say(&mut self, message: &ToAgent) {
        let frame = encode_message(message).unwrap();
        self.input.as_mut().unwrap().write_all(&frame).unwrap();
    }

    fn call(&mut self, id: u64, deadline_ms: u64, what: What) {
        self.say(&ToAgent::Call {
            id,
            deadline_ms,
            what,
        });
    }

    /// Reads until call `id` is answered.
    fn answer(&mut self, id: u64) -> Result<(Answer, Vec<u8>), Failure> {
        let mut preamble = Preamble::default();
        let mut frames = Frames::default();
        let mut spoke = false;
        let mut exchange = Exchange::new(id);
        let mut buffer = vec![0; 4096];
        loop {
            let length = self.output.read(&mut buffer).unwrap();
            assert!(length > 0, "the agent left");
            if spoke {
                frames.push(&buffer[..length]);
            } else {
                preamble.push(&buffer[..length]);
                spoke = matches!(preamble.next_line().unwrap(), Some(Line::Agent { .. }));
                if spoke {
                    frames.push(&std::mem::take(&mut preamble).into_rest());
                }
            }
            while let Some(frame) = frames.next_frame().unwrap() {
                if let Step::Done(result) = exchange.take(&frame).unwrap() {
                    return result;
                }
            }
        }
    }
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn calls_are_answered_and_the_end_of_input_is_the_end() {
    let mut agent = served(LONG);
    agent.say(&ToAgent::Ping);
    agent.call(1, 60_000, What::Collect);
    let (answer, packed) = agent.answer(1).unwrap();
    assert!(matches!(answer, Answer::Collected { bytes } if bytes == packed.len() as u64));
    let raw = crosstie_node::capture::unpack(&packed).unwrap();
    assert!(!raw.meta.host.is_empty());
    agent.input = None;
    agent.ended.join().unwrap().unwrap();
}

#[test]
fn a_late_or_cancelled_call_is_answered_once() {
    let mut agent = served(LONG);
    agent.call(1, 0, What::Collect);
    assert_eq!(agent.answer(1), Err(Failure::Deadline));
    agent.input = None;
    agent.ended.join().unwrap().unwrap();

    let mut agent = served(LONG);
    agent.call(2, 60_000, What::Collect);
    agent.say(&ToAgent::Cancel { id: 2 });
    agent.say(&ToAgent::Cancel { id: 3 });
    assert_eq!(agent.answer(2), Err(Failure::Cancelled));
}

#[test]
fn silence_ends_the_agent() {
    let agent = served(Duration::from_millis(100));
    let ended = agent.ended.join().unwrap();
    assert!(matches!(ended, Err(ServeError::Silence(_))));
}

#[test]
fn a_controller_of_another_mind_is_left() {
    for bytes in [
        encode(Kind::Message, b"{}").unwrap(),
        encode(Kind::Bytes, b"12345678").unwrap(),
        vec![0xff; 8],
    ] {
        let mut agent = served(LONG);
        agent.input.as_mut().unwrap().write_all(&bytes).unwrap();
        assert!(agent.ended.join().unwrap().is_err());
    }
}
