//! States that tests make up and look into.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::{
    raw_message::RawMessage,
    state::{NetworkState, SavedAddress, SavedLink, SnapshotScope},
};
use crate::netlink::message::{AF_INET, AF_INET6};

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// What a test knows of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestInterface {
    pub name: String,
    pub up: bool,
    pub mtu: u32,
    /// `None` where they were not read.
    pub addresses: Option<Vec<IpNet>>,
}

/// As a snapshot has it. The same interfaces have to come in the same order each time.
pub fn state(scope: &SnapshotScope, boot: &str, interfaces: &[TestInterface]) -> NetworkState {
    let is_everything = *scope == SnapshotScope::Everything;
    let mut links = Vec::new();
    let mut addresses = Vec::new();
    let mut are_read = true;
    for (index, interface) in (1..).zip(interfaces) {
        links.push(SavedLink {
            name: interface.name.clone(),
            index,
            up: interface.up,
            mtu: interface.mtu,
            ..SavedLink::default()
        });
        let own = interface.addresses.as_ref();
        are_read &= own.is_some();
        if covers(scope, &interface.name) {
            let own = own.into_iter().flatten();
            addresses.extend(own.map(|address| saved(*address, index)));
        }
    }
    NetworkState {
        scope: scope.clone(),
        boot: boot.to_owned(),
        links: Some(links),
        addresses: are_read.then_some(addresses),
        next_hops: Some(Vec::new()),
        routes: Some(Vec::new()),
        rules: Some(Vec::new()),
        nftables: is_everything.then(BTreeMap::new),
        iptables: is_everything.then(BTreeMap::new),
        ip6tables: is_everything.then(BTreeMap::new),
        sysctls: BTreeMap::new(),
    }
}

/// Those that a restore may touch.
pub fn covered(state: &NetworkState) -> impl Iterator<Item = TestInterface> {
    let links = state.links.iter().flatten();
    let covered = links.filter(|link| covers(&state.scope, &link.name));
    covered.map(|link| TestInterface {
        name: link.name.clone(),
        up: link.up,
        mtu: link.mtu,
        addresses: state.addresses.as_ref().map(|all| {
            let own = all.iter().filter(|address| address.index() == link.index);
            own.filter_map(network).collect()
        }),
    })
}

fn covers(scope: &SnapshotScope, name: &str) -> bool {
    match scope {
        SnapshotScope::Everything => true,
        SnapshotScope::Interfaces(names) => names.iter().any(|covered| covered == name),
    }
}

fn saved(address: IpNet, index: u32) -> SavedAddress {
    let (family, bytes) = match address {
        IpNet::V4(net) => (AF_INET, net.addr().octets().to_vec()),
        IpNet::V6(net) => (AF_INET6, net.addr().octets().to_vec()),
    };
    let mut message = RawMessage::new(&[family, address.prefix_len(), 0, 0, 0, 0, 0, 0]);
    message.set_header_u32(4, index);
    SavedAddress {
        message: message.with(IFA_ADDRESS, &bytes).with(IFA_LOCAL, &bytes),
        ..SavedAddress::default()
    }
}

fn network(address: &SavedAddress) -> Option<IpNet> {
    IpNet::new(address.ip()?, address.message.header_u8(1)).ok()
}
