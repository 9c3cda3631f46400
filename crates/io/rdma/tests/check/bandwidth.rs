//! Bandwidth.

use std::sync::{
    Barrier,
    atomic::{AtomicBool, Ordering},
};

use crosstie_rdma::{
    Bandwidth, Direction, Figures, GoError, JoinedEngine, OpenRequest, Role, Test,
};
use crosstie_verbs::{AsyncEventKind, Status};

use super::ends::{joined, run, stand_in};

const WRITE: Test = Test::Bandwidth {
    direction: Direction::Write,
};
const READ: Test = Test::Bandwidth {
    direction: Direction::Read,
};

fn figures(test: Test, change: impl Fn(&mut OpenRequest)) -> Bandwidth {
    let stand_in = stand_in();
    let (near, far) = run(joined(&stand_in, test, change));
    assert_eq!(far.unwrap(), Figures::Responded);
    assert_eq!(stand_in.live(), Some(0), "everything is destroyed");
    match near.unwrap() {
        Figures::Bandwidth(figures) => figures,
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_are_counted_within_the_time_that_is_measured() {
    for (test, queue_pairs, list, size) in [
        (WRITE, 1, 1, 64),
        (WRITE, 4, 16, 64),
        (READ, 2, 1, 512),
        (WRITE, 1, 1, 65536),
    ] {
        let figures = figures(test, |request| {
            (request.queue_pairs, request.list, request.size) = (queue_pairs, list, size);
            request.signal_every = OpenRequest::usual_signal_every(size, request.depth);
        });
        assert!(figures.complete && figures.messages > 0, "{figures:?}");
        assert_eq!(figures.bytes, figures.messages * u64::from(size));
        let time = figures.nanoseconds;
        assert!((300_000_000..5_000_000_000).contains(&time), "{figures:?}");
        assert!(figures.windows.len() >= 3, "{figures:?}");
        assert!(figures.windows.iter().sum::<u64>() <= figures.bytes);
        assert!(figures.processor_nanoseconds > 0);
    }
}

#[test]
fn infiniband_needs_no_address_and_no_interface() {
    let figures = figures(WRITE, |request| {
        request.device = request.device.replace("roce", "ib");
        (request.address, request.interface_mtu) = (None, None);
    });
    assert!(figures.complete && figures.messages > 0);
}

/// Both directions at once are two initiators; each gives its own figures.
#[test]
fn both_ends_may_send() {
    let stand_in = stand_in();
    let ends = joined(&stand_in, WRITE, |request| request.role = Role::Initiator);
    // Neither may go before the other has drained.
    let done = Barrier::new(2);
    std::thread::scope(|scope| {
        for mut end in ends {
            let done = &done;
            scope.spawn(move || {
                let figures = end.go(&AtomicBool::new(false), &mut |_| {}).unwrap();
                done.wait();
                let Figures::Bandwidth(figures) = figures else {
                    panic!("{figures:?}");
                };
                assert!(figures.complete && figures.messages > 0);
            });
        }
    });
}

#[test]
fn one_that_is_stopped_has_figures_and_says_that_they_are_not_complete() {
    let stand_in = stand_in();
    let [mut near, _far] = joined(&stand_in, WRITE, |request| request.times.measure = 60_000);
    let stop = AtomicBool::new(false);
    let mut told = 0;
    let stopped = near.go(&stop, &mut |progress| {
        told += 1;
        assert_eq!(progress.bytes, progress.messages * 64);
        stop.store(told == 3, Ordering::Relaxed);
    });
    let Figures::Bandwidth(figures) = stopped.unwrap() else {
        panic!("no bandwidth");
    };
    assert!(!figures.complete && figures.messages > 0, "{figures:?}");
    assert_eq!(told, 3);
}

fn fail(fault: &str, change: impl Fn(&mut OpenRequest)) -> GoError {
    let stand_in = stand_in();
    let [mut near, _far]: [JoinedEngine; 2] = joined(&stand_in, WRITE, change);
    assert!(stand_in.inject(fault), "{fault}");
    near.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err()
}

#[test]
fn a_peer_that_does_not_answer_ends_the_test() {
    let error = fail("completion=12@1000", |_| {});
    let GoError::Completion(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.status, Status::RETRY_EXCEEDED);
}

#[test]
fn silence_ends_the_test() {
    let error = fail("never_completes=1", |request| request.times.silence = 200);
    assert!(matches!(error, GoError::Silent(_)), "{error:?}");
    assert!(error.to_string().contains("200ms"), "{error}");
}

#[test]
fn posting_that_fails_ends_the_test() {
    let error = fail("post_send=5@500", |_| {});
    assert!(matches!(error, GoError::Post(_)), "{error:?}");
}

#[test]
fn a_port_that_goes_down_ends_both_ends() {
    let stand_in = stand_in();
    let ends = joined(&stand_in, WRITE, |request| request.times.measure = 60_000);
    // IBV_EVENT_PORT_ERR.
    assert!(stand_in.raise(10, 1));
    let (near, far) = run(ends);
    for result in [near, far] {
        let error = result.unwrap_err();
        assert!(
            matches!(error, GoError::Event(AsyncEventKind::PortDown)),
            "{error:?}"
        );
    }
}
