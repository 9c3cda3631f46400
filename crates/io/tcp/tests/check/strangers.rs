//! Whoever is not the peer.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

use crosstie_tcp::{TcpDirection, TcpEndpoint, TcpFigures, TcpJoinError};

use crate::ends::{NEVER, bandwidth, go, joined, opened};

const CALL_TIMEOUT: Duration = Duration::from_secs(20);

fn port(ends: &TcpEndpoint) -> SocketAddr {
    ends.listening.as_ref().unwrap().address
}

/// Connects, says `words`, and keeps the connection.
fn stranger(at: SocketAddr, words: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(CALL_TIMEOUT)).unwrap();
    stream.write_all(words).unwrap();
    stream
}

#[test]
fn a_hundred_strangers_get_nothing_and_disturb_nothing() {
    let ends = opened(bandwidth(TcpDirection::ToListener), 4);
    let at = port(&ends[0].1);
    // Some say nothing, some a part of a message, some garbage.
    let words: [&[u8]; 4] = [b"", b"GET / HTTP/1.1\r\n\r\n", &[0; 50], &[0xff; 200]];
    let strangers: Vec<TcpStream> = (0..100)
        .map(|number: usize| stranger(at, words[number % 4]))
        .collect();
    let engines = joined(ends).map(Result::unwrap);
    assert!(
        TcpStream::connect(at).is_err(),
        "the port is closed once all streams are there"
    );
    let [listener, _] = go(engines).map(Result::unwrap);
    let TcpFigures::Bandwidth {
        received: Some(received),
        ..
    } = listener
    else {
        panic!("{listener:?}")
    };
    assert!(
        received.complete && received.bytes > 1 << 20,
        "{received:?}"
    );
    for mut stranger in strangers {
        let mut got = Vec::new();
        // Closed, or reset: nothing was said either way.
        let _ = stranger.read_to_end(&mut got);
        assert_eq!(got, b"");
    }
}

#[test]
fn the_peers_address_is_not_enough() {
    let ends = opened(bandwidth(TcpDirection::ToListener), 1);
    let [(_, at), (connector, from)] = opened(bandwidth(TcpDirection::ToListener), 1);
    // A connector of another run, at the same address.
    let mut mixed: TcpEndpoint = at;
    mixed.listening.as_mut().unwrap().address = port(&ends[0].1);
    let [(listener, _), _] = ends;
    let other = thread::spawn(move || connector.join(&mixed, &NEVER));
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let listener = scope.spawn(|| listener.join(&from, &stop));
        thread::sleep(Duration::from_secs(1));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let error = listener.join().unwrap().unwrap_err();
        assert!(matches!(error, TcpJoinError::Stopped), "{error:?}");
    });
    let error = other.join().unwrap().unwrap_err();
    assert!(
        matches!(
            error,
            TcpJoinError::Connect { .. } | TcpJoinError::Stranger { .. }
        ),
        "{error:?}"
    );
}

#[test]
fn both_ends_with_one_role_are_told_so() {
    let [(listener, at), _] = opened(bandwidth(TcpDirection::Both), 1);
    let error = listener.join(&at, &NEVER).unwrap_err();
    assert!(
        matches!(error, TcpJoinError::SameRole { listens: true }),
        "{error:?}"
    );
}
