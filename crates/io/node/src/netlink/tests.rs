//! Messages that this machine's kernel may have no modules for, and damaged ones.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    address,
    link::LinkTable,
    message::{AF_INET, AF_INET6, NetlinkRequest},
    neighbour, route, rule,
};

fn body(request: &NetlinkRequest) -> Vec<u8> {
    request.encode(0, 0)[16..].to_vec()
}

fn link(index: u32, flags: u32, name: &str) -> NetlinkRequest {
    let mut fixed = vec![0, 0];
    fixed.extend(1_u16.to_ne_bytes());
    fixed.extend(index.to_ne_bytes());
    fixed.extend(flags.to_ne_bytes());
    fixed.extend([0; 4]);
    NetlinkRequest::new(16, &fixed).text(3, name)
}

/// A bond of two ports with a VLAN on top, and an `IPoIB` child.
fn bonded() -> Vec<Vec<u8>> {
    let active_backup = NetlinkRequest::attributes()
        .bytes(1, &[1])
        .u32(2, 2)
        .u32(3, 100);
    let bond = NetlinkRequest::attributes()
        .text(1, "bond")
        .nest(2, &active_backup);
    let slave = NetlinkRequest::attributes().text(4, "bond");
    let tag = NetlinkRequest::attributes()
        .bytes(1, &177_u16.to_ne_bytes())
        .bytes(5, &[0x81, 0x00]);
    let vlan = NetlinkRequest::attributes().text(1, "vlan").nest(2, &tag);
    let partition = NetlinkRequest::attributes()
        .bytes(1, &0x8001_u16.to_ne_bytes())
        .bytes(2, &1_u16.to_ne_bytes());
    let ipoib = NetlinkRequest::attributes()
        .text(1, "ipoib")
        .nest(2, &partition);
    let names = NetlinkRequest::attributes().text(53, "fabric-left");
    let port = |index, name| {
        link(index, 0x1_1843, name)
            .bytes(1, &[2, 0, 0, 0, 0, 1])
            .bytes(54, &[2, 0, 0, 0, 0, 9])
            .u32(10, 4)
            .bytes(16, &[6])
            .bytes(36, &[0xb8, 0x3f, 0xd2, 0x10])
            .text(38, "p0")
            .nest(18, &slave)
    };
    let messages = [
        port(2, "left").nest(52, &names),
        port(3, "right"),
        link(4, 0x1_1443, "bond0").nest(18, &bond),
        link(5, 0x1003, "bond0.177").u32(5, 4).nest(18, &vlan),
        link(6, 0x1002, "ib0.8001").u32(5, 99).nest(18, &ipoib),
    ];
    messages.iter().map(body).collect()
}

fn links(bodies: &[Vec<u8>]) -> LinkTable {
    let mut links = LinkTable::default();
    for body in bodies {
        links.insert(body);
    }
    links
}

#[test]
fn bonds_vlans_and_partitions_are_told() {
    let value = links(&bonded()).to_json(BTreeMap::new());
    let by_name = |name: &str| -> Value {
        let list = value.as_array().unwrap();
        let found = list.iter().find(|link| link["ifname"] == name);
        found.unwrap().clone()
    };
    let left = by_name("left");
    assert_eq!(left["master"], "bond0");
    assert_eq!(left["permaddr"], "02:00:00:00:00:09");
    assert_eq!(left["phys_switch_id"], "b83fd210");
    assert_eq!(left["phys_port_name"], "p0");
    assert_eq!(left["operstate"], "UP");
    assert_eq!(left["altnames"], json!(["fabric-left"]));
    assert_eq!(left["linkinfo"], json!({ "info_slave_kind": "bond" }));
    assert_eq!(
        by_name("bond0")["linkinfo"],
        json!({ "info_kind": "bond",
                "info_data": { "mode": "active-backup", "active_slave": "left", "miimon": 100 } })
    );
    let vlan = by_name("bond0.177");
    assert_eq!(vlan["link"], "bond0");
    assert_eq!(
        vlan["flags"],
        json!(["NO-CARRIER", "BROADCAST", "MULTICAST", "UP"])
    );
    assert_eq!(
        vlan["linkinfo"],
        json!({ "info_kind": "vlan", "info_data": { "protocol": "802.1Q", "id": 177 } })
    );
    let partition = by_name("ib0.8001");
    assert_eq!(partition["link"], "if99");
    assert_eq!(
        partition["linkinfo"]["info_data"],
        json!({ "pkey": "0x8001", "mode": "connected" })
    );
}

fn other_bodies() -> Vec<Vec<u8>> {
    let hop = |index: u32, gateway: [u8; 4]| {
        let mut hop = 16_u16.to_ne_bytes().to_vec();
        hop.extend([4, 1]);
        hop.extend(index.to_ne_bytes());
        hop.extend(body(&NetlinkRequest::attributes().bytes(5, &gateway)));
        hop
    };
    let hops = [hop(2, [10, 0, 0, 1]), hop(3, [10, 0, 0, 2])].concat();
    let metrics = NetlinkRequest::attributes().u32(2, 8900);
    let route = NetlinkRequest::new(24, &[AF_INET, 16, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0])
        .bytes(1, &[10, 31, 0, 0])
        .nest(8, &metrics)
        .bytes(9, &hops);
    let rule = NetlinkRequest::new(32, &[AF_INET6, 0, 64, 0, 0, 0, 0, 1, 2, 0, 0, 0])
        .bytes(2, &[0xfd; 16])
        .u32(6, 1000)
        .u32(15, 4000)
        .bytes(23, &[1, 0, 2, 0])
        .bytes(20, &[0; 8]);
    let neighbour = NetlinkRequest::new(28, &[AF_INET, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0x80, 1])
        .bytes(1, &[10, 0, 0, 1])
        .bytes(2, &[2, 0, 0, 0, 0, 1]);
    let address = NetlinkRequest::new(20, &[AF_INET, 24, 0x80, 0, 2, 0, 0, 0])
        .bytes(2, &[10, 0, 0, 9])
        .bytes(6, &[0xff; 16]);
    [route, rule, neighbour, address].iter().map(body).collect()
}

#[test]
fn paths_side_by_side_are_told() {
    let links = links(&bonded());
    let route = route::describe(&other_bodies()[0], &links).unwrap();
    let expected = json!({
        "dst": "10.31.0.0/16", "flags": [], "metrics": [{ "mtu": 8900 }],
        "nexthops": [
            { "gateway": "10.0.0.1", "dev": "left", "weight": 2, "flags": ["onlink"] },
            { "gateway": "10.0.0.2", "dev": "right", "weight": 2, "flags": ["onlink"] },
        ],
    });
    assert_eq!(route, expected);
}

fn describe_all(body: &[u8]) {
    let mut links = LinkTable::default();
    links.insert(body);
    let _ = links.to_json(BTreeMap::new());
    let _ = route::describe(body, &links);
    let _ = rule::describe(body);
    let _ = neighbour::describe(body, &links);
    let _ = address::describe(body);
    let _ = super::dcb::describe(body);
}

proptest! {
    #[test]
    fn damaged_messages_do_no_harm(which in 0_usize..9, at: u16, byte: u8, end: u16) {
        let mut bodies = bonded();
        bodies.extend(other_bodies());
        let mut body = bodies.swap_remove(which);
        let length = body.len();
        body[usize::from(at) % length] = byte;
        describe_all(&body);
        describe_all(&body[..usize::from(end) % length]);
    }

    #[test]
    fn any_bytes_do_no_harm(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        describe_all(&body);
    }
}
