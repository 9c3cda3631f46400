//! What a controller sees of an agent, frame by frame.

use std::{
    io::{self, Read, Write},
    thread::{self, JoinHandle},
    time::Duration,
};

use crosstie_reach::protocol::{
    AgentFrameKind, AgentFrameReader, CallExchange, CallFailure, ExchangeEvent, PreambleLine,
    PreambleReader, ToAgent, encode, encode_message,
};

use super::{
    CALL_TIMEOUT,
    echo::{self, Ask},
};
use crate::{CALL_TABLE, Call, CollectCall, ServeError, ServeOptions, serve, table::CallTableRow};

/// An agent in a thread of this process, at the other end of two pipes.
struct Served {
    input: Option<io::PipeWriter>,
    output: io::PipeReader,
    preamble: PreambleReader,
    frames: Option<AgentFrameReader>,
    ended: JoinHandle<Result<(), ServeError>>,
}

fn served(silence: Duration, table: &'static [CallTableRow]) -> Served {
    let (theirs, input) = io::pipe().unwrap();
    let (output, ours) = io::pipe().unwrap();
    let options = ServeOptions { silence, table };
    Served {
        input: Some(input),
        output,
        preamble: PreambleReader::default(),
        frames: None,
        ended: thread::spawn(move || serve(theirs, ours, "00ff", options)),
    }
}

impl Served {
    fn say(&mut self, message: &ToAgent, body: &[u8]) {
        let frame = encode_message(message, body).unwrap();
        self.input.as_mut().unwrap().write_all(&frame).unwrap();
    }

    fn call(&mut self, id: u64, deadline_ms: u64, name: &str, ask: &[u8]) {
        let name = name.to_owned();
        self.say(
            &ToAgent::Call {
                id,
                deadline_ms,
                name,
            },
            ask,
        );
    }

    /// Reads until call `id` is answered; the answer, and what was streamed.
    fn answer(&mut self, id: u64) -> Result<(Vec<u8>, Vec<u8>), CallFailure> {
        let mut exchange = CallExchange::default();
        exchange.begin(id);
        let mut streamed = Vec::new();
        let mut buffer = vec![0; 4096];
        loop {
            while let Some(frame) = self
                .frames
                .as_mut()
                .and_then(|frames| frames.next_frame().unwrap())
            {
                match exchange.take(&frame).unwrap() {
                    ExchangeEvent::Done { result, .. } => {
                        return result.map(|answer| (answer, streamed));
                    }
                    ExchangeEvent::Stream { bytes, .. } => {
                        exchange.grant(id, bytes.len() as u64);
                        streamed.extend(bytes);
                    }
                    _ => {}
                }
            }
            let length = self.output.read(&mut buffer).unwrap();
            assert!(length > 0, "the agent left");
            let Some(frames) = &mut self.frames else {
                self.preamble.push(&buffer[..length]);
                if let Some(PreambleLine::Agent { .. }) = self.preamble.next_line().unwrap() {
                    let mut frames = AgentFrameReader::default();
                    frames.push(&std::mem::take(&mut self.preamble).into_rest());
                    self.frames = Some(frames);
                }
                continue;
            };
            frames.push(&buffer[..length]);
        }
    }
}

#[test]
fn calls_are_answered_and_the_end_of_input_is_the_end() {
    let mut agent = served(CALL_TIMEOUT, CALL_TABLE);
    agent.say(&ToAgent::Ping, &[]);
    agent.call(1, 60_000, CollectCall::NAME, b"null");
    agent.say(
        &ToAgent::Credit {
            id: 1,
            bytes: 64 << 20,
        },
        &[],
    );
    let (_, packed) = agent.answer(1).unwrap();
    let raw = crosstie_node::capture::unpack(&packed).unwrap();
    assert!(!raw.meta.host.is_empty());
    agent.call(2, 60_000, CollectCall::NAME, b"{");
    let unreadable = agent.answer(2);
    assert!(matches!(unreadable, Err(CallFailure::Unreadable { .. })));
    agent.input = None;
    agent.ended.join().unwrap().unwrap();
}

#[test]
fn a_late_or_cancelled_call_is_answered_once() {
    let wait = serde_json::to_vec(&Ask::Wait("wire".to_owned())).unwrap();
    let say = serde_json::to_vec(&Ask::Say("again".to_owned())).unwrap();
    let mut agent = served(CALL_TIMEOUT, echo::TABLE);
    agent.call(1, 0, "echo", &wait);
    assert_eq!(agent.answer(1), Err(CallFailure::Deadline));
    agent.call(2, 60_000, "echo", &wait);
    agent.say(&ToAgent::Cancel { id: 2 }, &[]);
    agent.say(&ToAgent::Cancel { id: 3 }, &[]);
    assert_eq!(agent.answer(2), Err(CallFailure::Cancelled));
    // Both may end at any time, and nobody hears of it: the number is another's.
    agent.call(2, 60_000, "echo", &say);
    let said = agent.answer(2).unwrap().0;
    assert_eq!(said, br#"{"Ok":{"Said":"again"}}"#);
    agent.input = None;
    agent.ended.join().unwrap().unwrap();
}

#[test]
fn silence_ends_the_agent() {
    let agent = served(Duration::from_millis(100), CALL_TABLE);
    let ended = agent.ended.join().unwrap();
    assert!(matches!(ended, Err(ServeError::Silence(_))));
}

#[test]
fn a_controller_of_another_build_is_left() {
    for bytes in [
        encode(AgentFrameKind::Message, b"{}").unwrap(),
        encode(AgentFrameKind::Bytes, b"12345678").unwrap(),
        vec![0xff; 8],
    ] {
        let mut agent = served(CALL_TIMEOUT, CALL_TABLE);
        agent.input.as_mut().unwrap().write_all(&bytes).unwrap();
        assert!(agent.ended.join().unwrap().is_err());
    }
}
