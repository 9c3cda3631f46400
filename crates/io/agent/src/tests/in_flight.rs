//! One session, and what its calls may do.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use crosstie_reach::{
    CallLimits, Session, SessionError,
    protocol::{CallFailure, STREAM_WINDOW},
};

use super::{
    CALL_TIMEOUT,
    echo::{Answer, Ask, DROPPED, Echo, STOPPED, TABLE, Unwilling},
    session,
};
use crate::{CallError, HelloCall, call, call_while_wanted, call_with_stream};

type Said = Result<Answer, CallError<Unwilling>>;

fn echo(session: &dyn Session, ask: &Ask) -> Said {
    call::<Echo>(session, ask, CALL_TIMEOUT, &mut |_| ())
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + CALL_TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn answers_errors_and_panics_reach_the_caller() {
    let (session, _agent) = session(TABLE);
    let said = echo(&session, &Ask::Say("a\nb".to_owned())).unwrap();
    assert_eq!(said, Answer::Said("a\nb".to_owned()));
    let refused = echo(&session, &Ask::Refuse);
    assert!(matches!(refused, Err(CallError::Call(Unwilling))));
    let panicked = echo(&session, &Ask::Panic).unwrap_err();
    assert!(panicked.to_string().contains("on purpose"), "{panicked}");
    let unknown = call::<HelloCall>(&session, &(), CALL_TIMEOUT, &mut |()| ());
    assert!(matches!(
        unknown,
        Err(CallError::Session(SessionError::Failed(
            CallFailure::Unknown { .. }
        )))
    ));
}

#[test]
fn the_latest_events_arrive_and_the_count_is_in_the_answer() {
    let (session, _agent) = session(TABLE);
    let mut seen = Vec::new();
    let started = Instant::now();
    let mut on_event = |(number, _): (u64, String)| seen.push(number);
    let answer = call::<Echo>(&session, &Ask::Events(20_000), CALL_TIMEOUT, &mut on_event).unwrap();
    assert_eq!(answer, Answer::Count(20_000));
    let most = 1 + started.elapsed().as_millis() / 200;
    assert!(seen.len() as u128 <= most, "{} of {most}", seen.len());
    assert!(seen.is_sorted());
}

#[test]
fn a_stream_is_whole_and_waits_for_a_slow_receiver() {
    let (session, agent) = session(TABLE);
    let count = 4 * STREAM_WINDOW + 17;
    let (mut bytes, mut most) = (Vec::new(), 0);
    let mut on_stream = |part: &[u8]| {
        bytes.extend_from_slice(part);
        most = most.max(agent.output.queued());
        thread::sleep(Duration::from_millis(1));
        Ok(())
    };
    let ask = Ask::Stream(count);
    let answer =
        call_with_stream::<Echo>(&session, &ask, CALL_TIMEOUT, &mut |_| (), &mut on_stream);
    assert_eq!(answer.unwrap(), Answer::Count(count));
    assert_eq!(bytes.len() as u64, count);
    let numbers = (0..count).map(|number| number.to_le_bytes()[0]);
    assert!(bytes.iter().copied().eq(numbers));
    assert!(most as u64 <= STREAM_WINDOW, "{most}");
}

#[test]
fn a_receiver_that_has_enough_cancels_its_call_alone() {
    let (session, agent) = session(TABLE);
    let full = &mut |_: &[u8]| Err(SessionError::TooLong { limit: 0 });
    let ask = Ask::Stream(8 * STREAM_WINDOW);
    let answer = call_with_stream::<Echo>(&session, &ask, CALL_TIMEOUT, &mut |_| (), full);
    assert!(matches!(
        answer,
        Err(CallError::Session(SessionError::TooLong { .. }))
    ));
    let said = echo(&session, &Ask::Say(String::new())).unwrap();
    assert_eq!(said, Answer::Said(String::new()));
    until("nothing is left of the stream", || {
        agent.output.queued() == 0
    });
}

#[test]
fn resources_outlive_their_call_and_end_with_the_session() {
    let (session, _agent) = session(TABLE);
    let hold = |name: &str| match echo(&session, &Ask::Hold(name.to_owned())).unwrap() {
        Answer::Holds(id) => id,
        other => panic!("{other:?}"),
    };
    let (first, second) = (hold("first"), hold("second"));
    assert_ne!(first, second);
    let found = echo(&session, &Ask::Held(first)).unwrap();
    assert_eq!(found, Answer::Said("first".to_owned()));
    drop(session);
    until("the end of both", || DROPPED.lock().unwrap().len() == 2);
    assert_eq!(*DROPPED.lock().unwrap(), ["second", "first"]);
}

#[test]
fn a_late_call_is_stopped_and_the_session_goes_on() {
    let (session, _agent) = session(TABLE);
    let brief = Duration::from_millis(100);
    let late = call::<Echo>(
        &session,
        &Ask::Wait("cancelled".to_owned()),
        brief,
        &mut |_| (),
    );
    let late = late.unwrap_err();
    assert!(
        matches!(late, CallError::Session(SessionError::Deadline { deadline }) if deadline == brief)
    );
    until("it is told to stop", || {
        STOPPED.lock().unwrap().contains(&"cancelled".to_owned())
    });
    echo(&session, &Ask::Say(String::new())).unwrap();
}

#[test]
fn a_call_that_nobody_wants_any_more_ends_before_its_deadline() {
    let (session, _agent) = session(TABLE);
    let began = Instant::now();
    let limits = CallLimits {
        deadline: CALL_TIMEOUT,
        is_unwanted: Some(&|| began.elapsed() > Duration::from_millis(300)),
    };
    let ask = Ask::Wait("unwanted".to_owned());
    let ended = call_while_wanted::<Echo>(&session, &ask, limits, &mut |_| ());
    assert!(
        matches!(
            ended,
            Err(CallError::Session(SessionError::Failed(
                CallFailure::Cancelled
            )))
        ),
        "{ended:?}"
    );
    assert!(began.elapsed() < CALL_TIMEOUT / 2);
    until("it is told to stop", || {
        STOPPED.lock().unwrap().contains(&"unwanted".to_owned())
    });
    echo(&session, &Ask::Say(String::new())).unwrap();
}

#[test]
fn calls_of_one_session_may_wait_for_each_other() {
    let (session, _agent) = session(TABLE);
    let session = Arc::new(session);
    let other = Arc::clone(&session);
    let other = thread::spawn(move || echo(other.as_ref(), &Ask::Meet).unwrap());
    assert_eq!(echo(session.as_ref(), &Ask::Meet).unwrap(), Answer::Nothing);
    assert_eq!(other.join().unwrap(), Answer::Nothing);
}
