//! What cannot be opened or joined.

use crosstie_model::Mtu;
use crosstie_rdma::{Direction, JoinError, OpenError, OpenRequest, RequestError, Role, Test};

use super::ends::{open_end, request, stand_in};

const WRITE: Test = Test::Bandwidth {
    direction: Direction::Write,
};

fn refused(change: impl FnOnce(&mut OpenRequest)) -> OpenError {
    let mut request = request(WRITE, Role::Initiator);
    change(&mut request);
    open_end(&stand_in(), request).unwrap_err()
}

#[test]
fn requests_that_cannot_be_satisfied_are_refused() {
    let cases: [fn(&mut OpenRequest); 9] = [
        |request| request.depth = 100,
        |request| request.list = 256,
        |request| request.signal_every = 0,
        |request| request.size = 0,
        |request| request.queue_pairs = 0,
        |request| request.times.measure = 0,
        |request| request.interface_mtu = None,
        |request| request.interface_mtu = Some(Mtu(300)),
        |request| {
            request.test = Test::Latency;
            request.queue_pairs = 2;
        },
    ];
    for change in cases {
        let error = refused(change);
        assert!(matches!(error, OpenError::Request(_)), "{error:?}");
    }
    let OpenError::Request(error) = refused(|request| request.size = u32::MAX) else {
        panic!("a message of 4 GiB");
    };
    assert!(matches!(error, RequestError::TooLarge { .. }), "{error:?}");
}

#[test]
fn each_step_of_opening_has_its_error() {
    let error = refused(|request| request.device = "mlx5_0".to_owned());
    assert!(matches!(error, OpenError::Device(_)), "{error:?}");
    let error = refused(|request| request.address = None);
    assert!(matches!(error, OpenError::Address(_)), "{error:?}");
    let error = refused(|request| request.port = 2);
    assert!(matches!(error, OpenError::Call(_)), "{error:?}");
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
        let error = open_end(&stand_in, request(WRITE, Role::Initiator)).unwrap_err();
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
    open_end(&stand_in, request(WRITE, Role::Initiator)).unwrap();
    assert!(stand_in.inject("ibv_create_qp=22,ibv_create_qp=22"));
    let error = open_end(&stand_in, request(WRITE, Role::Initiator)).unwrap_err();
    assert!(matches!(error, OpenError::Queues(_)), "{error:?}");
}

#[test]
fn ends_of_different_tests_do_not_join() {
    let stand_in = stand_in();
    let open = |role, change: fn(&mut OpenRequest)| {
        let mut request = request(WRITE, role);
        change(&mut request);
        open_end(&stand_in, request).unwrap()
    };
    let (_far, two) = open(Role::Responder, |request| request.queue_pairs = 2);
    let (near, _) = open(Role::Initiator, |_| {});
    let error = near.join(&two).unwrap_err();
    assert!(
        matches!(error, JoinError::Count { ours: 1, theirs: 2 }),
        "{error:?}"
    );
    let (_far, longer) = open(Role::Responder, |request| request.size = 8192);
    let (near, _) = open(Role::Initiator, |_| {});
    let error = near.join(&longer).unwrap_err();
    assert!(matches!(error, JoinError::Memory { .. }), "{error:?}");
    let (near, _) = open(Role::Initiator, |_| {});
    let (_far, peer) = open(Role::Responder, |_| {});
    assert!(stand_in.inject("ibv_modify_qp=110"));
    let error = near.join(&peer).unwrap_err();
    assert_eq!(error.to_string(), "queue pair 0 of 1 cannot be connected");
}

#[test]
fn completions_are_few_for_short_messages_and_all_for_long_ones() {
    assert_eq!(OpenRequest::usual_signal_every(64, 128), 64);
    assert_eq!(OpenRequest::usual_signal_every(8192, 16), 8);
    assert_eq!(OpenRequest::usual_signal_every(8193, 128), 1);
    assert_eq!(OpenRequest::usual_signal_every(1, 1), 1);
}
