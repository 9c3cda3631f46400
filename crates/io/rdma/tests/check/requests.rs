//! What cannot be opened or joined.

use crosstie_fabric::placement::{MemoryBudget, MemoryLimit};
use crosstie_model::Mtu;
use crosstie_rdma::{
    BandwidthOperation, EngineResources, LatencyOperation, MemoryCap, RdmaFigures, RdmaJoinError,
    RdmaOpenError, RdmaOpenRequest, RdmaRequestError, RdmaRole, RdmaTest,
};

use super::ends::{open_end, open_within, request, run, stand_in};

const WRITE: RdmaTest = RdmaTest::Bandwidth {
    transfer: BandwidthOperation::Write,
};

fn refused(change: impl FnOnce(&mut RdmaOpenRequest)) -> RdmaOpenError {
    let mut request = request(WRITE, RdmaRole::Initiator);
    change(&mut request);
    open_end(&stand_in(), request).unwrap_err()
}

#[test]
fn requests_that_cannot_be_satisfied_are_refused() {
    let cases: [fn(&mut RdmaOpenRequest); 11] = [
        |request| request.depth = 100,
        |request| request.list = 256,
        |request| request.signal_every = Some(0),
        |request| request.sizes = vec![64, 0],
        |request| request.sizes = Vec::new(),
        |request| request.queue_pairs = 0,
        |request| request.times.measure = 0,
        |request| request.interface_mtu = None,
        |request| request.interface_mtu = Some(Mtu(300)),
        |request| {
            let message = LatencyOperation::Send;
            request.test = RdmaTest::Latency { message };
            request.queue_pairs = 2;
        },
        |request| {
            let transfer = BandwidthOperation::Write;
            request.test = RdmaTest::Verify { transfer };
            request.role = RdmaRole::Both;
        },
    ];
    for change in cases {
        let error = refused(change);
        assert!(matches!(error, RdmaOpenError::Request(_)), "{error:?}");
    }
    let RdmaOpenError::Request(error) = refused(|request| request.sizes = vec![u32::MAX]) else {
        panic!("a message of 4 GiB");
    };
    assert!(
        matches!(error, RdmaRequestError::TooLarge { .. }),
        "{error:?}"
    );
}

#[test]
fn each_step_of_opening_has_its_error() {
    let error = refused(|request| request.device = "mlx5_0".to_owned());
    assert!(matches!(error, RdmaOpenError::Device(_)), "{error:?}");
    let error = refused(|request| request.address = None);
    assert!(matches!(error, RdmaOpenError::Address(_)), "{error:?}");
    let error = refused(|request| request.port = 2);
    assert!(matches!(error, RdmaOpenError::Call(_)), "{error:?}");
    for (fault, wanted) in [
        (
            "port_state=1",
            "standin_roce0 port 1 is down: is the cable in, the peer's end up, and on InfiniBand a subnet manager running?",
        ),
        ("ibv_get_device_list=38", "RDMA devices cannot be listed"),
        ("ibv_reg_mr_iova2=12", "no memory for messages"),
        ("ibv_create_cq=12", "no queues"),
        ("ibv_create_qp=12", "no queues"),
        ("ibv_query_device=5", "the device does not answer"),
    ] {
        let stand_in = stand_in();
        assert!(stand_in.inject(fault));
        let error = open_end(&stand_in, request(WRITE, RdmaRole::Initiator)).unwrap_err();
        assert_eq!(error.to_string(), wanted);
        assert_eq!(
            stand_in.live(),
            Some(0),
            "{fault}: what was made is destroyed"
        );
    }
}

#[test]
fn a_device_that_refuses_inline_data_is_asked_for_none() {
    let stand_in = stand_in();
    assert!(stand_in.inject("ibv_create_qp=22"));
    open_end(&stand_in, request(WRITE, RdmaRole::Initiator)).unwrap();
    assert!(stand_in.inject("ibv_create_qp=22,ibv_create_qp=22"));
    let error = open_end(&stand_in, request(WRITE, RdmaRole::Initiator)).unwrap_err();
    assert!(matches!(error, RdmaOpenError::Queues(_)), "{error:?}");
}

#[test]
fn ends_of_different_tests_do_not_join() {
    let stand_in = stand_in();
    let open = |role, change: fn(&mut RdmaOpenRequest)| {
        let mut request = request(WRITE, role);
        change(&mut request);
        open_end(&stand_in, request).unwrap()
    };
    let far = open(RdmaRole::Responder, |request| request.queue_pairs = 2);
    let near = open(RdmaRole::Initiator, |_| {});
    let error = near.join(far.offer()).unwrap_err();
    assert!(
        matches!(error, RdmaJoinError::Count { ours: 1, theirs: 2 }),
        "{error:?}"
    );
    let far = open(RdmaRole::Responder, |request| request.sizes = vec![4096]);
    let near = open(RdmaRole::Initiator, |request| request.sizes = vec![8192]);
    let mut lying = far.offer().clone();
    lying.longest = 8192;
    let error = near.join(&lying).unwrap_err();
    assert!(matches!(error, RdmaJoinError::Memory { .. }), "{error:?}");
    let near = open(RdmaRole::Initiator, |_| {});
    let far = open(RdmaRole::Responder, |_| {});
    assert!(stand_in.inject("ibv_modify_qp=110"));
    let error = near.join(far.offer()).unwrap_err();
    assert_eq!(error.to_string(), "queue pair 0 of 1 cannot be connected");
}

fn budget(bytes: u64) -> EngineResources {
    EngineResources {
        memory: Some(MemoryBudget {
            bytes,
            limit: MemoryLimit::Locked,
        }),
        yields: true,
    }
}

/// One end has less memory: both use messages that fit, and say so.
#[test]
fn buffers_keep_to_the_memory_that_there_is() {
    let stand_in = stand_in();
    let open = |role, surroundings| {
        let mut request = request(WRITE, role);
        (request.sizes, request.signal_every) = (vec![1 << 20], None);
        open_within(&stand_in, request, surroundings).unwrap()
    };
    let near = open(RdmaRole::Initiator, EngineResources::default());
    let far = open(RdmaRole::Responder, budget(100_000));
    assert_eq!(near.memory_cap(), None);
    let budget_of = budget(100_000).memory.unwrap();
    assert_eq!(
        far.memory_cap(),
        Some(MemoryCap {
            asked: 1 << 20,
            granted: 32768,
            budget: budget_of
        })
    );
    let offers = [near.offer().clone(), far.offer().clone()];
    let (near, _) = run([
        near.join(&offers[1]).unwrap(),
        far.join(&offers[0]).unwrap(),
    ]);
    let RdmaFigures::Bandwidth(figures) = near.unwrap() else {
        panic!("no bandwidth");
    };
    assert_eq!(figures[0].size, 32768);
    let request = request(WRITE, RdmaRole::Initiator);
    let error = open_within(&stand_in, request, budget(1000)).unwrap_err();
    let RdmaOpenError::Request(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(
        error.to_string(),
        "1 queue pairs need more than 1000 B, which is the limit on locked memory (`ulimit -l`), divided among the tests of this node"
    );
}

/// The stand-in's queues are 4096 deep, and its completion queues have 65536 entries.
#[test]
fn queues_keep_to_what_the_device_can_do() {
    let stand_in = stand_in();
    let ends = super::ends::joined(&stand_in, WRITE, |request| {
        (request.depth, request.queue_pairs) = (8192, 64);
        (request.sizes, request.signal_every) = (vec![64], None);
    });
    let (near, _) = run(ends);
    let RdmaFigures::Bandwidth(figures) = near.unwrap() else {
        panic!("no bandwidth");
    };
    assert_eq!(figures[0].depth, 256);
}

#[test]
fn completions_are_few_for_short_messages_and_all_for_long_ones() {
    assert_eq!(RdmaOpenRequest::usual_signal_every(64, 128), 64);
    assert_eq!(RdmaOpenRequest::usual_signal_every(8192, 16), 8);
    assert_eq!(RdmaOpenRequest::usual_signal_every(8193, 128), 1);
    assert_eq!(RdmaOpenRequest::usual_signal_every(1, 1), 1);
}
