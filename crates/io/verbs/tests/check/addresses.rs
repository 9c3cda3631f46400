//! How ports are addressed.

use std::net::IpAddr;

use crosstie_verbs::{GidType, PortAddress, PortAddressError};

use super::stand_in::StandIn;

fn roce(address: &str) -> Result<PortAddress, PortAddressError> {
    let stand_in = StandIn::new();
    let context = stand_in.open("standin_roce0");
    let port = context.port(1).unwrap();
    context.port_address(&port, Some(address.parse().unwrap()))
}

#[test]
fn a_roce_gid_is_chosen_by_address_and_version() {
    for (address, wanted) in [
        ("192.0.2.1", 3),
        ("2001:db8::1", 6),
        ("fe80::1", 1),
        ("::ffff:192.0.2.1", 3),
    ] {
        let PortAddress::Roce { port, gid, index } = roce(address).unwrap() else {
            panic!("{address}: not RoCE");
        };
        assert_eq!((port, index), (1, wanted), "{address}");
        assert_eq!(
            gid.address(),
            address.parse::<IpAddr>().unwrap().to_canonical()
        );
    }
}

#[test]
fn an_address_without_a_gid_says_whether_there_is_one_of_version_1() {
    for (address, wanted) in [("198.51.100.1", true), ("192.0.2.9", false)] {
        let error = roce(address).unwrap_err();
        let PortAddressError::NoGid { version_1, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(version_1, wanted, "{error}");
        assert!(
            error.to_string().contains(&format!(
                "standin_roce0 port 1 has no RoCE v2 GID of {address}"
            )),
            "{error}"
        );
        assert_eq!(error.to_string().contains("RoCE v1"), wanted, "{error}");
    }
}

#[test]
fn roce_without_an_address_is_an_error_and_infiniband_needs_none() {
    let stand_in = StandIn::new();
    let context = stand_in.open("standin_roce0");
    let port = context.port(1).unwrap();
    let error = context.port_address(&port, None).unwrap_err();
    assert!(
        matches!(error, PortAddressError::AddressNeeded { .. }),
        "{error:?}"
    );
    let context = stand_in.open("standin_ib1");
    let mut port = context.port(1).unwrap();
    let address = context.port_address(&port, None).unwrap();
    assert_eq!(address, PortAddress::InfiniBand { port: 1, lid: 8 });
    port.lid = 0;
    let error = context.port_address(&port, None).unwrap_err();
    assert!(error.to_string().contains("subnet manager"), "{error}");
}

#[test]
fn the_gid_table_is_what_is_in_use() {
    let stand_in = StandIn::new();
    let context = stand_in.open("standin_roce0");
    let port = context.port(1).unwrap();
    let gids = context.gids(&port).unwrap();
    let indexes: Vec<_> = gids.iter().map(|entry| entry.index).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 5, 6, 7]);
    assert_eq!(
        (gids[3].kind, gids[2].kind),
        (GidType::RoceV2, GidType::RoceV1)
    );
    assert!(gids.iter().all(|entry| entry.interface_index == 3));
    stand_in.inject("_ibv_query_gid_ex=5");
    assert_eq!(context.gids(&port).unwrap_err().call, "ibv_query_gid_ex");
}
