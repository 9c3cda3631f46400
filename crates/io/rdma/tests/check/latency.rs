//! Latency.

use std::sync::atomic::{AtomicBool, Ordering};

use crosstie_rdma::{Histogram, LatencyOperation, RdmaFigures, RdmaRunError, RdmaTest};
use crosstie_verbs::CompletionStatus;

use super::ends::{joined, run, stand_in};

const WRITE: RdmaTest = RdmaTest::Latency {
    message: LatencyOperation::WriteWithImmediate,
};
const SEND: RdmaTest = RdmaTest::Latency {
    message: LatencyOperation::Send,
};

#[test]
fn round_trips_are_counted_and_both_ends_see_the_last() {
    for (test, size, depth) in [
        (WRITE, 8, 128),
        (WRITE, 4096, 32),
        (SEND, 2, 1),
        (SEND, 4096, 32),
    ] {
        let stand_in = stand_in();
        let ends = joined(&stand_in, test, |request| {
            (request.sizes, request.depth) = (vec![size], depth);
            request.signal_every = None;
            // Long enough for both ends to have a processor at the same time on a machine that does other things.
            request.times.measure = 600;
        });
        let (near, far) = run(ends);
        assert_eq!(far.unwrap(), RdmaFigures::Responded);
        let RdmaFigures::Latency(figures) = near.unwrap() else {
            panic!("no latency");
        };
        assert!(figures.complete);
        let times = figures.half_round_trips;
        assert!(times.count() > 0);
        let percentiles =
            [0, 50_000, 99_000, 99_900, 100_000].map(|which| times.percentile(which).unwrap());
        assert!(percentiles.is_sorted(), "{percentiles:?}");
        assert_eq!(times.most(), Some(percentiles[4]));
        let text = serde_json::to_string(&times).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), times);
        assert_eq!(stand_in.live(), Some(0), "everything is destroyed");
    }
}

/// More messages than receives were posted ahead, and than the queue is deep.
#[test]
fn receives_are_posted_again() {
    for test in [WRITE, SEND] {
        many_messages(test);
    }
}

fn many_messages(test: RdmaTest) {
    let stand_in = stand_in();
    let [mut near, mut far] = joined(&stand_in, test, |request| {
        (request.depth, request.times.measure) = (32, 60_000);
    });
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| far.go(&AtomicBool::new(false), &mut |_| {}).unwrap());
        let figures = near.go(&stop, &mut |progress| {
            stop.store(progress.messages > 300, Ordering::Relaxed);
        });
        let RdmaFigures::Latency(figures) = figures.unwrap() else {
            panic!("no latency");
        };
        assert!(!figures.complete);
    });
}

#[test]
fn a_peer_that_does_not_answer_ends_the_test() {
    let stand_in = stand_in();
    let [mut near, _far] = joined(&stand_in, WRITE, |request| {
        request.times.silence = 200;
    });
    let error = near.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RdmaRunError::Silent(_)), "{error:?}");
}

#[test]
fn a_message_that_fails_explains_why_none_comes_back() {
    let stand_in = stand_in();
    let ends = joined(&stand_in, WRITE, |request| {
        (request.times.silence, request.times.measure) = (1000, 60_000);
    });
    assert!(stand_in.inject("completion=13@20"));
    let (near, far) = run(ends);
    let failed = [near, far].into_iter().any(|result| {
        matches!(result, Err(RdmaRunError::Completion(error)) if error.status == CompletionStatus::RNR_RETRY_EXCEEDED)
    });
    assert!(failed);
}

#[test]
fn a_responder_that_nobody_asks_is_told_to_stop() {
    let stand_in = stand_in();
    let [_near, mut far] = joined(&stand_in, WRITE, |_| {});
    let figures = far.go(&AtomicBool::new(true), &mut |_| {}).unwrap();
    assert_eq!(figures, RdmaFigures::Responded);
}
