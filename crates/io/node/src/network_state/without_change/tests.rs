#![allow(clippy::unwrap_used)]

use super::*;
use crate::network_state::{
    raw_message::RawMessage,
    state::{SavedAddress, SavedRoute, SnapshotScope},
};

fn link(index: u32, name: &str, kind: &str, mtu: u32) -> SavedLink {
    SavedLink {
        index,
        name: name.to_owned(),
        kind: kind.to_owned(),
        mtu,
        ..SavedLink::default()
    }
}

fn address(index: u32, last: u8) -> SavedAddress {
    let mut message = RawMessage::new(&[2, 24, 0, 0, 0, 0, 0, 0]);
    message.set_header_u32(4, index);
    SavedAddress {
        message: message.with(2, &[192, 0, 2, last]),
        ..SavedAddress::default()
    }
}

fn route(third: u8, index: u32) -> SavedRoute {
    let message = RawMessage::new(&[2, 24, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0]);
    SavedRoute {
        message: message
            .with(1, &[198, 51, third, 0])
            .with(4, &index.to_ne_bytes()),
        ..SavedRoute::default()
    }
}

fn tables(tables: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    tables.iter().map(owned).collect()
}

fn state() -> NetworkState {
    let forwarding = ("ipv4/conf/forwarding".to_owned(), "0".to_owned());
    NetworkState {
        scope: SnapshotScope::Everything,
        links: Some(vec![
            link(2, "eth0", "", 1500),
            link(3, "br0", "bridge", 1500),
        ]),
        addresses: Some(vec![address(2, 1)]),
        routes: Some(vec![route(1, 2)]),
        next_hops: Some(Vec::new()),
        rules: Some(Vec::new()),
        iptables: Some(BTreeMap::new()),
        ip6tables: Some(BTreeMap::new()),
        sysctls: [("eth0".to_owned(), [forwarding].into())].into(),
        nftables: Some(tables(&[("inet filter", "old")])),
        ..NetworkState::default()
    }
}

/// What the change did, in every part.
fn changed(mut state: NetworkState) -> NetworkState {
    let links = state.links.as_mut().unwrap();
    links[0].mtu = 9000;
    links.retain(|link| link.name != "br0");
    links.push(link(4, "dummy0", "dummy", 1500));
    state.addresses.as_mut().unwrap().push(address(4, 4));
    state.addresses.as_mut().unwrap().remove(0);
    state.routes = Some(vec![route(2, 2)]);
    let values = state.sysctls.get_mut("eth0").unwrap();
    values.insert("ipv4/conf/forwarding".to_owned(), "1".to_owned());
    state.nftables = Some(tables(&[("inet filter", "new"), ("ip nat", "made")]));
    state
}

#[test]
fn where_nobody_else_has_changed_anything_it_is_as_before() {
    let found = changed(state()).without_change(&state(), &changed(state()));
    let mut before = state();
    // In another order.
    before.links.as_mut().unwrap().swap(0, 1);
    assert_eq!(found.state, before);
    assert_eq!((found.kept.len(), found.unread.len()), (0, 0));
}

#[test]
fn what_others_have_done_since_stays() {
    let mut now = changed(state());
    let links = now.links.as_mut().unwrap();
    links.push(link(9, "wg0", "wireguard", 1420));
    links[0].up = true;
    now.addresses.as_mut().unwrap().push(address(9, 9));
    // On a link that goes with the change.
    now.addresses.as_mut().unwrap().push(address(4, 44));
    now.routes
        .as_mut()
        .unwrap()
        .extend([route(9, 9), route(44, 4)]);
    let nftables = now.nftables.as_mut().unwrap();
    nftables.insert("ip docker".to_owned(), "theirs".to_owned());
    let found = now.without_change(&state(), &changed(state()));
    let (wanted, kept) = (found.state, found.kept);
    let links = wanted.links.unwrap();
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["br0", "eth0", "wg0"]);
    assert_eq!((links[1].mtu, links[1].up), (1500, true));
    assert_eq!(wanted.addresses.unwrap(), [address(2, 1), address(9, 9)]);
    assert_eq!(wanted.routes.unwrap(), [route(1, 2), route(9, 9)]);
    assert_eq!(
        wanted.nftables.unwrap(),
        tables(&[("inet filter", "old"), ("ip docker", "theirs")])
    );
    assert_eq!(kept, [""; 0]);
}

#[test]
fn what_the_change_left_alone_is_nobodys_affair() {
    let mut now = state();
    now.links.as_mut().unwrap()[0].mtu = 4200;
    now.routes = Some(Vec::new());
    now.nftables = Some(tables(&[]));
    let found = now.clone().without_change(&state(), &state());
    assert_eq!((found.state, found.kept), (now, Vec::new()));
}

#[test]
fn what_both_have_changed_stays_and_is_told() {
    let mut now = changed(state());
    now.links.as_mut().unwrap()[0].mtu = 4200;
    now.nftables = Some(tables(&[("inet filter", "newer"), ("ip nat", "made")]));
    let found = now.without_change(&state(), &changed(state()));
    assert_eq!(found.state.links.unwrap()[1].mtu, 4200);
    assert_eq!(
        found.state.nftables.unwrap(),
        tables(&[("inet filter", "newer")])
    );
    assert_eq!(
        found.kept,
        [
            "the MTU of eth0 was changed since, and stays as it is",
            "the nftables table inet filter was changed since, and stays as it is",
        ]
    );
}

#[test]
fn what_was_not_read_once_is_left_alone_and_told() {
    let mut after = changed(state());
    after.nftables = None;
    after.links = None;
    let found = changed(state()).without_change(&state(), &after);
    let wanted = found.state;
    assert_eq!((wanted.nftables, wanted.links), (None, None));
    let told: Vec<String> = found.unread.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "the links stay as they are: they could not be read after the change",
            "the settings of interfaces stay as they are: they could not be read after the change",
            "the firewall's nftables tables stay as they are: they could not be read after the change",
        ]
    );
    let mut now = changed(state());
    now.routes = None;
    let told = |before: NetworkState, after: NetworkState| {
        let found = now.clone().without_change(&before, &after);
        found.unread.iter().map(ToString::to_string).collect()
    };
    let told: [Vec<String>; 2] = [told(state(), changed(state())), told(state(), state())];
    let unread = "the routes stay as they are: they could not be read now".to_owned();
    assert_eq!(told, [vec![unread], Vec::new()]);
}

/// Rules of a firewall are no affair of a change of some interfaces.
#[test]
fn what_the_scope_does_not_cover_is_not_missed() {
    let of_one = |mut state: NetworkState| {
        state.scope = SnapshotScope::Interfaces(vec!["eth0".to_owned()]);
        state.nftables = None;
        state
    };
    let found =
        of_one(changed(state())).without_change(&of_one(state()), &of_one(changed(state())));
    assert!(found.unread.is_empty(), "{:?}", found.unread);
}
