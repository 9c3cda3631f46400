//! All parties of a trust, and what each is told of the others.

use ipnet::IpNet;

use crate::{MachineName, PeerClaims, PublicKey, UserName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustParty {
    pub name: MachineName,
    /// What the machine calls itself.
    pub host: Option<MachineName>,
    pub user: UserName,
    /// Where its sshd listens.
    pub port: Option<u16>,
    /// The most likely first, with their networks.
    pub addresses: Vec<IpNet>,
    pub host_key: PublicKey,
}

/// What `parties[own]` is told of the others, which it believes once it has seen it. An address that several have (a bridge of containers, a port forward) tells
/// none of them apart and is left out.
pub fn peers_of(own: usize, parties: &[TrustParty]) -> Vec<PeerClaims> {
    let nets = parties.get(own).map(|party| party.addresses.as_slice());
    let nets = nets.unwrap_or_default();
    parties
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != own)
        .map(|(index, party)| peer(party, &without(index, parties), nets))
        .collect()
}

fn without(index: usize, parties: &[TrustParty]) -> Vec<&TrustParty> {
    let others = parties.iter().enumerate();
    others
        .filter(|(other, _)| *other != index)
        .map(|(_, party)| party)
        .collect()
}

fn peer(party: &TrustParty, others: &[&TrustParty], nets: &[IpNet]) -> PeerClaims {
    let mut addresses: Vec<_> = party
        .addresses
        .iter()
        .map(IpNet::addr)
        .filter(|address| {
            let mut taken = others.iter().flat_map(|other| &other.addresses);
            !taken.any(|net| net.addr() == *address)
        })
        .collect();
    // Those on a network of ours come first, and keep their order.
    addresses.sort_by_key(|address| !nets.iter().any(|net| net.contains(address)));
    let is_free = |name: &MachineName| {
        others
            .iter()
            .all(|other| other.name != *name && other.host.as_ref() != Some(name))
    };
    // A whole domain name would be somebody else's to claim.
    let is_own = |host: &&MachineName| **host != party.name && !host.as_str().contains('.');
    let host = party
        .host
        .iter()
        .filter(|host| is_own(host) && is_free(host));
    let numbers = addresses
        .iter()
        .filter_map(|address| address.to_string().parse().ok());
    PeerClaims {
        name: party.name.clone(),
        name_seen: false,
        host_names: host.cloned().collect(),
        addresses: numbers.filter(|number| *number != party.name).collect(),
        user: Some(party.user.clone()),
        port: party.port.filter(|port| *port != 22),
        host_key: party.host_key.clone(),
    }
}
