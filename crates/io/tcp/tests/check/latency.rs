use crosstie_tcp::{TcpFigures, TcpRole, TcpRunError, TcpTest, open};

use crate::ends::{NEVER, joined, measured, opened, request};

#[test]
fn half_round_trips_are_counted_by_the_connector() {
    let [listener, connector] = measured(TcpTest::Latency, 1);
    assert_eq!(listener, TcpFigures::Responded);
    let TcpFigures::Latency(latency) = connector else {
        panic!("{connector:?}")
    };
    let times = &latency.half_round_trips;
    assert!(latency.complete);
    assert!(times.count() > 100, "{}", times.count());
    assert!(times.least() <= times.percentile(50_000));
    assert!(times.percentile(50_000) <= times.percentile(99_900));
}

#[test]
fn a_silent_peer_is_an_error_that_names_it() {
    let [listener, connector] = joined(opened(TcpTest::Latency, 1)).map(Result::unwrap);
    let mut connector = connector;
    let error = connector.go(&NEVER, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TcpRunError::Silent { .. }), "{error:?}");
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    drop(listener);
}

#[test]
fn requests_are_judged_before_a_port_is_open() {
    let mut several = request(TcpRole::Listener, TcpTest::Latency, 2);
    assert!(open(several.clone()).is_err());
    several.streams = 1;
    several.address = "0.0.0.0".parse().unwrap();
    let error = open(several).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("0.0.0.0"), "{cause}");
    let elsewhere = crosstie_tcp::TcpOpenRequest {
        address: "192.0.2.1".parse().unwrap(),
        ..request(TcpRole::Listener, TcpTest::Latency, 1)
    };
    let error = open(elsewhere).unwrap_err();
    assert!(error.to_string().contains("192.0.2.1"), "{error}");
}
