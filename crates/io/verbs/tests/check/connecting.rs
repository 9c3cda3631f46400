//! Making things, connecting them, and what can go wrong meanwhile.

use crosstie_fabric::wire::roce_path_mtu;
use crosstie_model::{Bytes, Mtu};
use crosstie_verbs::{
    CreateError, LidOrGid, PathMtu, PathOptions, QueuePairConnectError, QueuePairEndpoint,
    QueuePairOptions, RegisterMemoryError,
};

use super::stand_in::{OPTIONS, PATH, READ_AND_WRITE, StandIn, end, told};

#[test]
fn registering_that_fails_says_what_to_do() {
    let stand_in = StandIn::new();
    let domain = stand_in.open("standin_roce0").protection_domain().unwrap();
    stand_in.inject("ibv_reg_mr_iova2=12");
    let error = domain.register(1 << 20, READ_AND_WRITE).unwrap_err();
    assert!(
        matches!(
            error,
            RegisterMemoryError::LockedMemory {
                bytes: Bytes(0x10_0000),
                ..
            }
        ),
        "{error:?}"
    );
    assert!(told(&error).starts_with(
        "standin_roce0: 1.0 MiB could not be registered: raise the limit on locked memory"
    ));
    stand_in.inject("ibv_reg_mr_iova2=38");
    let error = domain.register(4096, READ_AND_WRITE).unwrap_err();
    assert!(
        matches!(error, RegisterMemoryError::Unsupported { .. }),
        "{error:?}"
    );
    stand_in.inject("ibv_reg_mr_iova2=14");
    assert_eq!(
        told(&domain.register(4096, READ_AND_WRITE).unwrap_err()),
        "standin_roce0: ibv_reg_mr_iova2 failed: Bad address (os error 14)"
    );
    for length in [0, usize::MAX] {
        let error = domain.register(length, READ_AND_WRITE).unwrap_err();
        assert!(matches!(error, RegisterMemoryError::Buffer(_)), "{error:?}");
    }
}

type Make<'a> = &'a dyn Fn() -> Result<(), CreateError>;

#[test]
fn each_thing_that_cannot_be_made_is_named() {
    let stand_in = StandIn::new();
    let context = stand_in.open("standin_roce0");
    let domain = context.protection_domain().unwrap();
    let queue = context.completion_queue(16).unwrap();
    let pair = || domain.queue_pair(1, &queue, &queue, OPTIONS).map(drop);
    let makes: [(&str, &str, Make<'_>); 5] = [
        ("ibv_alloc_pd", "a protection domain", &|| {
            context.protection_domain().map(drop)
        }),
        ("ibv_create_comp_channel", "a completion channel", &|| {
            context.completion_queue_with_channel(16).map(drop)
        }),
        ("ibv_create_cq", "a completion queue", &|| {
            context.completion_queue(16).map(drop)
        }),
        ("ibv_create_qp", "a queue pair", &pair),
        ("ibv_modify_qp", "a queue pair on this port", &pair),
    ];
    for (function, wanted, make) in makes {
        let fail = |code: u32| {
            stand_in.inject(&format!("{function}={code}"));
            make().unwrap_err()
        };
        let errors = [fail(12), fail(22), fail(38)];
        let [
            CreateError::Exhausted { what: one, .. },
            CreateError::BeyondLimits { what: two, .. },
            CreateError::Unsupported { what: three, .. },
        ] = errors
        else {
            panic!("{function}: {errors:?}");
        };
        assert_eq!([one, two, three], [wanted; 3]);
        let text = told(&fail(5));
        assert!(
            text.starts_with(&format!("standin_roce0: {function}")),
            "{text}"
        );
        make().unwrap();
    }
}

#[test]
fn what_the_device_cannot_do_is_beyond_its_limits() {
    let stand_in = StandIn::new();
    let context = stand_in.open("standin_roce0");
    let domain = context.protection_domain().unwrap();
    let queue = context.completion_queue(16).unwrap();
    for options in [
        QueuePairOptions {
            send_depth: 5000,
            ..OPTIONS
        },
        QueuePairOptions {
            inline_bytes: 5000,
            ..OPTIONS
        },
    ] {
        let error = domain.queue_pair(1, &queue, &queue, options).unwrap_err();
        assert!(
            matches!(error, CreateError::BeyondLimits { .. }),
            "{error:?}"
        );
    }
    let error = domain.queue_pair(2, &queue, &queue, OPTIONS).unwrap_err();
    assert!(
        error.to_string().contains("a queue pair on this port"),
        "{error}"
    );
    let error = context.completion_queue(u32::MAX).unwrap_err();
    assert!(
        matches!(error, CreateError::BeyondLimits { .. }),
        "{error:?}"
    );
}

#[test]
fn a_peer_that_cannot_be_reached_is_named() {
    let peer = |stand_in: &StandIn| end(stand_in, "standin_roce1", READ_AND_WRITE).endpoint;
    for (code, wanted) in [
        (
            110,
            "standin_roce0: the peer 192.0.2.2 cannot be reached: its hardware address could not be resolved",
        ),
        (113, "standin_roce0: the peer 192.0.2.2 cannot be reached"),
        (22, "standin_roce0 refused to receive towards 192.0.2.2"),
        (
            5,
            "standin_roce0: ibv_modify_qp to RTR failed: Input/output error",
        ),
    ] {
        let stand_in = StandIn::new();
        let near = end(&stand_in, "standin_roce0", READ_AND_WRITE);
        let far = peer(&stand_in);
        stand_in.inject(&format!("ibv_modify_qp={code}"));
        let error = near
            .pair
            .ready_to_receive(&near.from, &near.endpoint, &far, PATH)
            .unwrap_err();
        assert!(told(&error).starts_with(wanted), "{}", told(&error));
    }
    for (code, wanted) in [
        (22, "standin_roce0 refused to send towards 192.0.2.2"),
        (
            5,
            "standin_roce0: ibv_modify_qp to RTS failed: Input/output error",
        ),
    ] {
        let stand_in = StandIn::new();
        let near = end(&stand_in, "standin_roce0", READ_AND_WRITE);
        let far = peer(&stand_in);
        let pair = near
            .pair
            .ready_to_receive(&near.from, &near.endpoint, &far, PATH)
            .unwrap();
        stand_in.inject(&format!("ibv_modify_qp={code}"));
        let error = pair.ready_to_send(&far, PATH).unwrap_err();
        assert!(told(&error).starts_with(wanted), "{}", told(&error));
    }
}

#[test]
fn what_makes_no_connection_is_refused_before_the_device_sees_it() {
    let stand_in = StandIn::new();
    let connect = |change: &dyn Fn(&mut QueuePairEndpoint, &mut PathOptions)| {
        let near = end(&stand_in, "standin_roce0", READ_AND_WRITE);
        let (mut peer, mut path) = (near.endpoint, PATH);
        change(&mut peer, &mut path);
        near.pair
            .ready_to_receive(&near.from, &near.endpoint, &peer, path)
            .unwrap_err()
    };
    let error = connect(&|peer, _| peer.queue_pair = 1 << 24);
    assert!(
        matches!(error, QueuePairConnectError::Endpoint(_)),
        "{error:?}"
    );
    let error = connect(&|peer, _| peer.address = LidOrGid::InfiniBand { lid: 7 });
    assert!(
        matches!(error, QueuePairConnectError::LinkLayers { .. }),
        "{error:?}"
    );
    let error = connect(&|_, path| path.timeout = 0);
    assert_eq!(error.to_string(), "the timeout is 0: it must be 1 to 31");
    let error = connect(&|_, path| path.retry_count = 8);
    assert_eq!(error.to_string(), "the retry count is 8: it must be 0 to 7");
}

#[test]
fn an_endpoint_travels_as_it_is_and_nothing_else_does() {
    let stand_in = StandIn::new();
    for device in ["standin_roce0", "standin_ib0"] {
        let endpoint = end(&stand_in, device, READ_AND_WRITE).endpoint;
        let text = serde_json::to_string(&endpoint).unwrap();
        assert_eq!(
            serde_json::from_str::<QueuePairEndpoint>(&text).unwrap(),
            endpoint
        );
        let more = text.replacen('{', r#"{"more":1,"#, 1);
        assert!(
            serde_json::from_str::<QueuePairEndpoint>(&more).is_err(),
            "{more}"
        );
    }
}

#[test]
fn a_netdevs_mtu_gives_the_path_mtu() {
    for (netdev, wanted) in [(1500, 1024), (4191, 2048), (9000, 4096)] {
        let mtu = PathMtu::try_from(roce_path_mtu(Mtu(netdev)).unwrap()).unwrap();
        assert_eq!(mtu.bytes(), wanted);
    }
}
