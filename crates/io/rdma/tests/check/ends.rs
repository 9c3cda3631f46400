//! Two ends in one process.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicBool, Ordering},
};

use crosstie_model::Mtu;
use crosstie_rdma::{
    EngineResources, HostResourceShare, JoinedRdmaEngine, OpenRdmaEngine, RdmaEndpoints,
    RdmaFigures, RdmaOpenError, RdmaOpenRequest, RdmaPathRequest, RdmaRole, RdmaRunError, RdmaTest,
    TestTimes, open,
};
use crosstie_verbs::VerbsLibrary;
use crosstie_verbs_stand_in::VerbsStandIn;

pub(crate) fn request(test: RdmaTest, role: RdmaRole) -> RdmaOpenRequest {
    let (device, host) = match role {
        RdmaRole::Responder => ("standin_roce1", 2),
        RdmaRole::Initiator | RdmaRole::Both => ("standin_roce0", 1),
    };
    RdmaOpenRequest {
        device: device.to_owned(),
        port: 1,
        address: Some(IpAddr::from([192, 0, 2, host])),
        interface_mtu: Some(Mtu(9000)),
        role,
        test,
        queue_pairs: 1,
        sizes: vec![64],
        depth: 128,
        list: 1,
        signal_every: Some(32),
        relaxed_ordering: false,
        path: RdmaPathRequest {
            timeout: 14,
            retry_count: 7,
            service_level: 0,
            traffic_class: 0,
        },
        times: TestTimes {
            warm_up: 50,
            measure: 350,
            cool_down: 50,
            silence: 5000,
        },
        share: HostResourceShare { index: 0, count: 1 },
    }
}

/// Set where valgrind looks on.
pub(crate) const UNDER_VALGRIND: &str = "CROSSTIE_TEST_UNDER_VALGRIND";

pub(crate) fn stand_in() -> VerbsStandIn {
    let stand_in = VerbsStandIn::new().unwrap();
    if std::env::var_os(UNDER_VALGRIND).is_some() {
        // What its statics hold would be taken for lost.
        stand_in.keep_loaded().unwrap();
    }
    stand_in
}

pub(crate) fn open_end(
    stand_in: &VerbsStandIn,
    request: RdmaOpenRequest,
) -> Result<OpenRdmaEngine, RdmaOpenError> {
    open_within(stand_in, request, EngineResources::default())
}

pub(crate) fn open_within(
    stand_in: &VerbsStandIn,
    request: RdmaOpenRequest,
    surroundings: EngineResources,
) -> Result<OpenRdmaEngine, RdmaOpenError> {
    open(
        &VerbsLibrary::open_at(stand_in.path()).unwrap(),
        request,
        surroundings,
    )
}

/// Initiator and responder of a test, joined.
pub(crate) fn joined(
    stand_in: &VerbsStandIn,
    test: RdmaTest,
    change: impl Fn(&mut RdmaOpenRequest),
) -> [JoinedRdmaEngine; 2] {
    let [(near, to_near), (far, to_far)] = [RdmaRole::Initiator, RdmaRole::Responder].map(|role| {
        let mut request = request(test, role);
        change(&mut request);
        // As over a control connection.
        let sent = serde_json::to_string(&request).unwrap();
        let engine = open_end(stand_in, serde_json::from_str(&sent).unwrap()).unwrap();
        let sent = serde_json::to_string(engine.offer()).unwrap();
        (
            engine,
            serde_json::from_str::<RdmaEndpoints>(&sent).unwrap(),
        )
    });
    [near.join(&to_far).unwrap(), far.join(&to_near).unwrap()]
}

/// Both go, each in a thread; the responder is told when the initiator is done.
pub(crate) fn run(
    [mut near, mut far]: [JoinedRdmaEngine; 2],
) -> (
    Result<RdmaFigures, RdmaRunError>,
    Result<RdmaFigures, RdmaRunError>,
) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let responder = scope.spawn(|| far.go(&over, &mut |_| {}));
        let figures = near.go(&AtomicBool::new(false), &mut |_| {});
        over.store(true, Ordering::Relaxed);
        (figures, responder.join().unwrap())
    })
}

/// Both go, and both measure.
pub(crate) fn run_both(ends: [JoinedRdmaEngine; 2]) -> [Result<RdmaFigures, RdmaRunError>; 2] {
    std::thread::scope(|scope| {
        let threads =
            ends.map(|mut end| scope.spawn(move || end.go(&AtomicBool::new(false), &mut |_| {})));
        threads.map(|thread| thread.join().unwrap())
    })
}
