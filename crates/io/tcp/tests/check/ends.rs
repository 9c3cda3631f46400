//! Two ends, as the tests make them.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::atomic::AtomicBool,
    thread,
};

use crosstie_tcp::{
    JoinedTcpEngine, OpenTcpEngine, TcpDirection, TcpEndpoint, TcpFigures, TcpJoinError,
    TcpOpenRequest, TcpRole, TcpRunError, TcpTest, TestTimes, open,
};

pub(crate) const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

pub(crate) fn request(role: TcpRole, test: TcpTest, streams: u16) -> TcpOpenRequest {
    TcpOpenRequest {
        address: HOME,
        interface: None,
        role,
        test,
        streams,
        size: if test == TcpTest::Latency {
            16
        } else {
            1 << 20
        },
        times: TestTimes {
            warm_up: 50,
            measure: 400,
            cool_down: 50,
            silence: 1500,
        },
    }
}

pub(crate) fn bandwidth(direction: TcpDirection) -> TcpTest {
    TcpTest::Bandwidth { direction }
}

/// The listener and the connector, with their endpoints.
pub(crate) fn opened(test: TcpTest, streams: u16) -> [(OpenTcpEngine, TcpEndpoint); 2] {
    [TcpRole::Listener, TcpRole::Connector].map(|role| open(request(role, test, streams)).unwrap())
}

pub(crate) fn joined(
    ends: [(OpenTcpEngine, TcpEndpoint); 2],
) -> [Result<JoinedTcpEngine, TcpJoinError>; 2] {
    let [(listener, at), (connector, from)] = ends;
    thread::scope(|scope| {
        let listener = scope.spawn(move || listener.join(&from, &NEVER));
        let connector = scope.spawn(move || connector.join(&at, &NEVER));
        [listener.join().unwrap(), connector.join().unwrap()]
    })
}

pub(crate) fn go(engines: [JoinedTcpEngine; 2]) -> [Result<TcpFigures, TcpRunError>; 2] {
    let threads = engines.map(|mut engine| thread::spawn(move || engine.go(&NEVER, &mut |_| ())));
    threads.map(|thread| thread.join().unwrap())
}

pub(crate) fn measured(test: TcpTest, streams: u16) -> [TcpFigures; 2] {
    let engines = joined(opened(test, streams)).map(Result::unwrap);
    go(engines).map(Result::unwrap)
}
