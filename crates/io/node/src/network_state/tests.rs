//! Messages that are damaged, and journals that somebody wrote.

use proptest::prelude::*;

use super::{
    NetworkState, SnapshotScope, address,
    interfaces::LinkMapping,
    link, next_hop,
    raw_message::{HexBytes, RawMessage},
    route, rule,
    state::{SavedLink, SavedRoute},
};

fn known() -> (NetworkState, LinkMapping) {
    let link = |index: u32, name: &str| SavedLink {
        index,
        name: name.to_owned(),
        ..SavedLink::default()
    };
    let before = NetworkState {
        scope: SnapshotScope::Everything,
        links: Some(vec![link(2, "eth0"), link(3, "eth1")]),
        ..NetworkState::default()
    };
    let interfaces = LinkMapping::new(&before, vec![link(7, "eth0")]);
    (before, interfaces)
}

/// A route over these links, side by side.
fn side_by_side(indexes: &[u32]) -> RawMessage {
    let mut paths = Vec::new();
    for index in indexes {
        paths.extend(8_u16.to_ne_bytes());
        paths.extend([0x10 | 4, 1]);
        paths.extend(index.to_ne_bytes());
    }
    RawMessage::new(&[2, 16, 0, 0, 254, 4, 0, 1, 0x14, 0, 0, 0])
        .with(1, &[10, 31, 0, 0])
        .with(9, &paths)
        .with(12, &[0; 32])
}

#[test]
fn indexes_are_translated_in_every_path() {
    let (_, interfaces) = known();
    let route = route::parse(side_by_side(&[2, 2])).unwrap();
    let now = route::translated(&route, &interfaces).unwrap();
    let mut expected = side_by_side(&[7, 7]);
    // Carrier and counters are not settings.
    expected = route::parse(expected).unwrap().message;
    assert_eq!(now.message, expected);
    assert_eq!(now.message.get(9).unwrap()[2], 4);
    assert_eq!(now.message.get(12), None);
    let lost = route::parse(side_by_side(&[2, 3])).unwrap();
    let gone = route::translated(&lost, &interfaces).unwrap_err();
    assert_eq!(gone.0, "eth1");
}

/// What a person changed of it stays, and is told.
#[test]
fn changed_settings_of_a_tunnel_are_not_passed_over() {
    let (_, interfaces) = known();
    let tunnel = |kind: &str, ttl: u8| SavedLink {
        kind: kind.to_owned(),
        settings: HexBytes(vec![5, 0, 8, 0, ttl, 0, 0, 0]),
        ..SavedLink::default()
    };
    let is_told = |kind: &str, ttl: u8| {
        link::kind::is_left_changed(&interfaces, &tunnel(kind, 64), &tunnel(kind, ttl))
    };
    assert!(is_told("gre", 1));
    assert!(!is_told("gre", 64));
    // Restored, or counting by itself.
    assert!(!is_told("vxlan", 1) && !is_told("hsr", 1));
}

fn look_at(message: &RawMessage) {
    let (_, interfaces) = known();
    let _ = link::parse(message);
    if let Some(own) = address::parse(message) {
        let _ = (own.ip(), own.translated(&interfaces));
    }
    if let Some(route) = route::parse(message.clone()) {
        let _ = route::translated(&route, &interfaces);
    }
    let given = SavedRoute {
        message: message.clone(),
        ..SavedRoute::default()
    };
    let _ = route::translated(&given, &interfaces);
    let hop = next_hop::normal(message.clone());
    let _ = next_hop::gone(&[hop], &interfaces);
    let names = ["eth0".to_owned()].into_iter();
    let own = ["10.0.0.1".parse().unwrap()].into_iter();
    let coverage = super::interfaces::LinkCoverage::Indexes([7].into());
    let _ = rule::RuleCoverage::new(&coverage, names, own).covers(message);
}

proptest! {
    #[test]
    fn damaged_messages_do_no_harm(at: u16, byte: u8, end: u16, header in 0_usize..20) {
        let mut body = side_by_side(&[2, 3]).body();
        let length = body.len();
        body[usize::from(at) % length] = byte;
        for bytes in [&body[..], &body[..usize::from(end) % length]] {
            if let Some(message) = RawMessage::parse(bytes, header) {
                look_at(&message);
            }
        }
    }

    #[test]
    fn any_journal_does_no_harm(header in proptest::collection::vec(any::<u8>(), 0..16),
                                kind in 0_u16..32, data in proptest::collection::vec(any::<u8>(), 0..40)) {
        look_at(&RawMessage::new(&header).with(kind, &data));
    }
}
