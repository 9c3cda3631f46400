//! Two ends, as the tests make them.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::atomic::AtomicBool,
    thread,
};

use crosstie_tcp::{
    Direction, Endpoint, Figures, GoError, JoinError, JoinedEngine, OpenEngine, OpenRequest, Role,
    Test, Times, open,
};

pub(crate) const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

pub(crate) fn request(role: Role, test: Test, streams: u16) -> OpenRequest {
    OpenRequest {
        address: HOME,
        interface: None,
        role,
        test,
        streams,
        size: if test == Test::Latency { 16 } else { 1 << 20 },
        times: Times {
            warm_up: 50,
            measure: 400,
            cool_down: 50,
            silence: 1500,
        },
    }
}

pub(crate) fn bandwidth(direction: Direction) -> Test {
    Test::Bandwidth { direction }
}

/// The listener and the connector, with their endpoints.
pub(crate) fn opened(test: Test, streams: u16) -> [(OpenEngine, Endpoint); 2] {
    [Role::Listener, Role::Connector].map(|role| open(request(role, test, streams)).unwrap())
}

pub(crate) fn joined(ends: [(OpenEngine, Endpoint); 2]) -> [Result<JoinedEngine, JoinError>; 2] {
    let [(listener, at), (connector, from)] = ends;
    thread::scope(|scope| {
        let listener = scope.spawn(move || listener.join(&from, &NEVER));
        let connector = scope.spawn(move || connector.join(&at, &NEVER));
        [listener.join().unwrap(), connector.join().unwrap()]
    })
}

pub(crate) fn go(engines: [JoinedEngine; 2]) -> [Result<Figures, GoError>; 2] {
    let threads = engines.map(|mut engine| thread::spawn(move || engine.go(&NEVER, &mut |_| ())));
    threads.map(|thread| thread.join().unwrap())
}

pub(crate) fn measured(test: Test, streams: u16) -> [Figures; 2] {
    let engines = joined(opened(test, streams)).map(Result::unwrap);
    go(engines).map(Result::unwrap)
}
