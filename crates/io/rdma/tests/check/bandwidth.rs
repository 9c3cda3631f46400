//! Bandwidth.

use std::sync::atomic::{AtomicBool, Ordering};

use crosstie_rdma::{
    BandwidthOperation, JoinedRdmaEngine, MeasuredBandwidth, RdmaFigures, RdmaOpenRequest,
    RdmaRole, RdmaRunError, RdmaTest,
};
use crosstie_verbs::{AsyncEventKind, CompletionStatus};

use super::ends::{joined, run, run_both, stand_in};

const WRITE: RdmaTest = RdmaTest::Bandwidth {
    transfer: BandwidthOperation::Write,
};
const READ: RdmaTest = RdmaTest::Bandwidth {
    transfer: BandwidthOperation::Read,
};
const SEND: RdmaTest = RdmaTest::Bandwidth {
    transfer: BandwidthOperation::Send,
};

fn figures(test: RdmaTest, change: impl Fn(&mut RdmaOpenRequest)) -> MeasuredBandwidth {
    let stand_in = stand_in();
    let (near, far) = run(joined(&stand_in, test, change));
    assert_eq!(far.unwrap(), RdmaFigures::Responded);
    assert_eq!(stand_in.live(), Some(0), "everything is destroyed");
    one(near.unwrap())
}

fn one(figures: RdmaFigures) -> MeasuredBandwidth {
    let mut all = several(figures);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn several(figures: RdmaFigures) -> Vec<MeasuredBandwidth> {
    match figures {
        RdmaFigures::Bandwidth(figures) => figures,
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
        (SEND, 1, 1, 64),
        (SEND, 4, 16, 4096),
        (SEND, 1, 1, 65536),
    ] {
        let figures = figures(test, |request| {
            (request.queue_pairs, request.list) = (queue_pairs, list);
            (request.sizes, request.signal_every) = (vec![size], None);
        });
        assert!(figures.complete && figures.messages > 0, "{figures:?}");
        assert_eq!(figures.messages, figures.bytes / u64::from(size));
        assert_eq!((figures.size, figures.depth), (size, 128));
        // However late a busy machine lets it look.
        assert_eq!(figures.nanoseconds, 350_000_000);
        assert_eq!(figures.windows.len(), 3, "{figures:?}");
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

/// Each gives its own figures, and neither goes before the other is done.
#[test]
fn both_ends_may_send() {
    for test in [WRITE, READ, SEND] {
        let stand_in = stand_in();
        let ends = joined(&stand_in, test, |request| {
            request.role = RdmaRole::Both;
            // One is done long before the other.
            if request.device == "standin_roce1" {
                request.times.measure = 800;
            }
        });
        for figures in run_both(ends) {
            let figures = one(figures.unwrap());
            assert!(figures.complete && figures.messages > 0, "{figures:?}");
        }
        assert_eq!(stand_in.live(), Some(0), "everything is destroyed");
    }
}

#[test]
fn sizes_follow_each_other_on_the_same_queue_pairs() {
    let sizes = [2, 64, 220, 4096, 65536, 8 << 20];
    for (test, role) in [
        (WRITE, RdmaRole::Initiator),
        (READ, RdmaRole::Initiator),
        (SEND, RdmaRole::Initiator),
        (SEND, RdmaRole::Both),
    ] {
        let stand_in = stand_in();
        let ends = joined(&stand_in, test, |request| {
            (request.sizes, request.signal_every) = (sizes.to_vec(), None);
            (request.times.warm_up, request.times.measure) = (5, 30);
            if role == RdmaRole::Both {
                request.role = role;
            }
        });
        let (near, far) = if role == RdmaRole::Both {
            run_both(ends).into()
        } else {
            run(ends)
        };
        let near = several(near.unwrap());
        let found: Vec<u32> = near.iter().map(|one| one.size).collect();
        assert_eq!(found, sizes);
        assert!(near.iter().all(|one| one.complete && one.messages > 0));
        // What is under way is bounded in bytes.
        assert_eq!((near[0].depth, near[5].depth), (128, 2));
        if role == RdmaRole::Both {
            assert_eq!(several(far.unwrap()).len(), sizes.len());
        }
    }
}

/// A responder that is not there yet is waited for, and one that never comes is an error.
#[test]
fn a_send_waits_for_its_peer() {
    let stand_in = stand_in();
    let [mut near, _far] = joined(&stand_in, SEND, |request| request.times.silence = 100);
    let error = near.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RdmaRunError::Silent(_)), "{error:?}");
    let [_near, mut far] = joined(&stand_in, SEND, |request| request.times.silence = 100);
    let error = far.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RdmaRunError::Silent(_)), "{error:?}");
    let [_near, mut far] = joined(&stand_in, SEND, |_| {});
    assert_eq!(
        far.go(&AtomicBool::new(true), &mut |_| {}).unwrap(),
        RdmaFigures::Responded
    );
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
    let figures = one(stopped.unwrap());
    assert!(!figures.complete && figures.messages > 0, "{figures:?}");
    assert_eq!(told, 3);
}

fn fail(fault: &str, change: impl Fn(&mut RdmaOpenRequest)) -> RdmaRunError {
    let stand_in = stand_in();
    let [mut near, far]: [JoinedRdmaEngine; 2] = joined(&stand_in, WRITE, change);
    assert!(stand_in.inject(fault), "{fault}");
    let error = near.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
    drop((near, far));
    assert_eq!(stand_in.live(), Some(0), "{fault}: everything is destroyed");
    error
}

#[test]
fn a_peer_that_does_not_answer_ends_the_test() {
    let error = fail("completion=12@1000", |_| {});
    let RdmaRunError::Completion(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.status, CompletionStatus::RETRY_EXCEEDED);
}

#[test]
fn silence_ends_the_test() {
    let error = fail("never_completes=1", |request| request.times.silence = 200);
    assert!(matches!(error, RdmaRunError::Silent(_)), "{error:?}");
    assert!(error.to_string().contains("200ms"), "{error}");
}

#[test]
fn posting_that_fails_ends_the_test() {
    let error = fail("post_send=5@500", |_| {});
    assert!(matches!(error, RdmaRunError::Post(_)), "{error:?}");
}

#[test]
fn a_port_that_goes_down_ends_both_ends() {
    let stand_in = stand_in();
    let ends = joined(&stand_in, WRITE, |request| request.times.measure = 60_000);
    // IBV_EVENT_PORT_ERR.
    assert!(stand_in.raise(10, 1));
    let (near, far) = run(ends);
    // Also of whoever hears of it second, when the other has ended its work already.
    for result in [near, far] {
        let error = result.unwrap_err();
        let is_event = matches!(error, RdmaRunError::Event(AsyncEventKind::PortDown));
        assert!(is_event, "{error:?}");
    }
}

/// Receives are flushed when a send has failed, and may be seen first.
#[test]
fn what_was_flushed_is_never_the_reason() {
    for test in [WRITE, READ, SEND] {
        let stand_in = stand_in();
        let [mut near, _far] = joined(&stand_in, test, |request| {
            (request.role, request.times.silence) = (RdmaRole::Both, 1000);
        });
        // The first message: it tells the other end that this one is there.
        assert!(stand_in.inject("completion=12"));
        let error = near.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
        let RdmaRunError::Completion(error) = error else {
            panic!("{error:?}");
        };
        assert_eq!(error.status, CompletionStatus::RETRY_EXCEEDED, "{test:?}");
    }
}

/// Long before the silence would.
#[test]
fn a_notice_that_fails_ends_the_test() {
    let stand_in = stand_in();
    let [mut near, _far] = joined(&stand_in, SEND, |request| request.times.silence = 60_000);
    assert!(stand_in.inject("completion=12"));
    let error = near.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RdmaRunError::Completion(_)), "{error:?}");
}

/// The device has let go of all work, and what goes wrong on the way there hides nothing.
#[test]
fn after_an_error_nothing_is_under_way() {
    let stand_in = stand_in();
    let [mut near, far] = joined(&stand_in, SEND, |request| request.times.silence = 100);
    let error = near.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RdmaRunError::Silent(_)), "{error:?}");
    // The peer's next message finds a queue pair that is in error.
    let mut far = far;
    let error = far.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
    let RdmaRunError::Completion(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.status, CompletionStatus::RETRY_EXCEEDED);
    drop((near, far));
    assert_eq!(stand_in.live(), Some(0));
    let [mut near, _far] = joined(&stand_in, WRITE, |_| {});
    assert!(stand_in.inject("completion=12@10,ibv_modify_qp=5"));
    let error = near.go(&AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RdmaRunError::Completion(_)), "{error:?}");
}
