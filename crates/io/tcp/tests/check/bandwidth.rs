use std::{
    thread,
    time::{Duration, Instant},
};

use crosstie_tcp::{MeasuredBandwidth, SendCost, TcpDirection, TcpFigures, TcpRunError};

use crate::ends::{NEVER, bandwidth, joined, measured, opened};

fn parts(figures: TcpFigures) -> (Option<MeasuredBandwidth>, Option<SendCost>) {
    match figures {
        TcpFigures::Bandwidth { received, sent } => (received, sent),
        other => panic!("{other:?}"),
    }
}

fn plausible(received: &MeasuredBandwidth) {
    assert!(received.complete, "{received:?}");
    assert!(received.bytes > 1 << 20, "{received:?}");
    let time = received.nanoseconds;
    // However late a busy machine lets it look.
    assert!((400_000_000..600_000_000).contains(&time), "{received:?}");
    assert_eq!(received.windows.len(), 4, "{received:?}");
    assert!(received.windows.iter().sum::<u64>() <= received.bytes);
    assert!(received.processor_nanoseconds > 0, "{received:?}");
}

#[test]
fn the_receivers_bytes_count_in_every_direction() {
    for (direction, streams) in [
        (TcpDirection::ToListener, 1),
        (TcpDirection::FromListener, 3),
        (TcpDirection::Both, 2),
    ] {
        let [listener, connector] = measured(bandwidth(direction), streams).map(parts);
        let to_listener = direction != TcpDirection::FromListener;
        let from_listener = direction != TcpDirection::ToListener;
        assert_eq!(listener.0.is_some(), to_listener, "{direction:?}");
        assert_eq!(connector.1.is_some(), to_listener, "{direction:?}");
        assert_eq!(connector.0.is_some(), from_listener, "{direction:?}");
        assert_eq!(listener.1.is_some(), from_listener, "{direction:?}");
        for (received, sent) in [(&listener.0, connector.1), (&connector.0, listener.1)] {
            let Some(received) = received else { continue };
            plausible(received);
            let sent = sent.unwrap();
            assert_eq!(sent.bytes, received.whole_bytes, "every byte has arrived");
            assert!(sent.bytes >= received.bytes, "{sent:?} {received:?}");
            assert!(sent.processor_nanoseconds > 0, "{sent:?}");
        }
    }
}

#[test]
fn a_peer_that_is_gone_ends_the_test_at_both_ends() {
    for direction in [TcpDirection::ToListener, TcpDirection::FromListener] {
        let [listener, connector] = joined(opened(bandwidth(direction), 2)).map(Result::unwrap);
        drop(connector);
        let mut listener = listener;
        let error = listener.go(&NEVER, &mut |_| ()).unwrap_err();
        assert!(matches!(error, TcpRunError::Closed { .. }), "{error:?}");
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
    }
}

#[test]
fn a_peer_that_hangs_ends_the_test_after_the_silence() {
    for direction in [TcpDirection::ToListener, TcpDirection::FromListener] {
        let [mut listener, connector] = joined(opened(bandwidth(direction), 1)).map(Result::unwrap);
        let began = Instant::now();
        let error = listener.go(&NEVER, &mut |_| ()).unwrap_err();
        assert!(matches!(error, TcpRunError::Silent { .. }), "{error:?}");
        assert!(began.elapsed() < Duration::from_secs(15));
        drop(connector);
    }
}

#[test]
fn one_that_is_stopped_is_not_complete() {
    let [mut listener, mut connector] =
        joined(opened(bandwidth(TcpDirection::ToListener), 1)).map(Result::unwrap);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (received, sent) = thread::scope(|scope| {
        let sender = scope.spawn(move || connector.go(&NEVER, &mut |_| ()));
        let receiver = scope.spawn(|| listener.go(&stop, &mut |_| ()));
        thread::sleep(Duration::from_millis(200));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        (receiver.join().unwrap(), sender.join().unwrap())
    });
    let received = parts(received.unwrap()).0.unwrap();
    assert!(!received.complete, "{received:?}");
    assert!(sent.is_ok(), "{sent:?}");
}

#[test]
fn progress_is_told_where_bytes_arrive() {
    let [mut listener, mut connector] =
        joined(opened(bandwidth(TcpDirection::ToListener), 1)).map(Result::unwrap);
    let sender = thread::spawn(move || connector.go(&NEVER, &mut |_| ()));
    let mut told = Vec::new();
    listener
        .go(&NEVER, &mut |progress| told.push(progress))
        .unwrap();
    sender.join().unwrap().unwrap();
    assert!(told.len() >= 2, "{told:?}");
    assert!(told.is_sorted_by_key(|progress| progress.bytes));
}
