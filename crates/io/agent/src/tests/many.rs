//! Many sessions, several calls in each, and some that tell far more than anybody wants to hear.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{
    CALL_TIMEOUT,
    echo::{Answer, Ask, Echo, TABLE},
    session,
};
use crate::{call, call_with_stream};

const SESSIONS: usize = 200;
const EVENTS: u64 = 500;
/// Within what may be sent unasked.
const STREAMED: u64 = 100_000;

/// An event has a kilobyte and is queued once a call; answers are short.
const MOST_QUEUED: u64 = STREAMED + 8 * 1024;

#[test]
fn no_answer_is_lost_and_memory_is_bounded() {
    let sessions: Vec<_> = (0..SESSIONS).map(|_| session(TABLE)).collect();
    let over = Arc::new(AtomicBool::new(false));
    let agents: Vec<_> = sessions
        .iter()
        .map(|(_, agent)| Arc::clone(agent))
        .collect();
    let ended = Arc::clone(&over);
    let watch = thread::spawn(move || {
        let mut most = 0;
        while !ended.load(Ordering::SeqCst) {
            let queued = agents.iter().map(|agent| agent.output.queued());
            most = most.max(queued.max().unwrap_or(0));
        }
        most
    });
    let together = Barrier::new(3 * SESSIONS);
    thread::scope(|scope| {
        for (index, (session, _)) in sessions.iter().enumerate() {
            scope.spawn(|| {
                together.wait();
                let told = call::<Echo>(session, &Ask::Events(EVENTS), CALL_TIMEOUT, &mut |_| ());
                assert_eq!(told.unwrap(), Answer::Count(EVENTS));
            });
            scope.spawn(|| {
                together.wait();
                let mut came = 0;
                let mut count = |part: &[u8]| {
                    came += part.len() as u64;
                    Ok(())
                };
                let ask = Ask::Stream(STREAMED);
                let streamed =
                    call_with_stream::<Echo>(session, &ask, CALL_TIMEOUT, &mut |_| (), &mut count);
                assert_eq!(streamed.unwrap(), Answer::Count(STREAMED));
                assert_eq!(came, STREAMED);
            });
            let together = &together;
            scope.spawn(move || {
                together.wait();
                for round in 0..10 {
                    let text = format!("{index} {round}");
                    let ask = Ask::Say(text.clone());
                    let said = call::<Echo>(session, &ask, CALL_TIMEOUT, &mut |_| ());
                    assert_eq!(said.unwrap(), Answer::Said(text));
                }
            });
        }
    });
    over.store(true, Ordering::SeqCst);
    let most = watch.join().unwrap();
    assert!(most as u64 <= MOST_QUEUED, "{most}");
}
