//! Answers that came by several ways, put together to machines.

use std::{
    collections::BTreeSet,
    fmt,
    net::{IpAddr, SocketAddr, SocketAddrV6},
};

use crosstie_model::HardwareAddress;

use crate::{MdnsHostName, mac_of, vendor};

/// Sightings that are looked at.
pub const MAX_SIGHTINGS: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiscoveryMethod {
    Mdns,
    AllNodes,
}

impl DiscoveryMethod {
    pub fn word(self) -> &'static str {
        match self {
            Self::Mdns => "mdns",
            Self::AllNodes => "all-nodes",
        }
    }
}

/// An address, and the interface that it is good for if that is but one. Those that reach farther come first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateAddress {
    /// Name and index.
    zone: Option<(String, u32)>,
    address: IpAddr,
}

impl CandidateAddress {
    pub fn new(address: IpAddr, interface: &str, index: u32) -> Self {
        let link_local = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
        Self {
            zone: link_local.then(|| (interface.to_owned(), index)),
            address,
        }
    }

    pub fn address(&self) -> IpAddr {
        self.address
    }

    pub fn zone(&self) -> Option<&str> {
        self.zone.as_ref().map(|(name, _)| name.as_str())
    }

    pub fn socket(&self, port: u16) -> SocketAddr {
        match (self.address, &self.zone) {
            (IpAddr::V6(address), Some((_, index))) => {
                SocketAddrV6::new(address, port, 0, *index).into()
            }
            (address, _) => SocketAddr::new(address, port),
        }
    }
}

impl fmt::Display for CandidateAddress {
    /// As ssh takes it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.zone {
            Some((zone, _)) => write!(formatter, "{}%{zone}", self.address),
            None => write!(formatter, "{}", self.address),
        }
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryAnswer {
    pub via: DiscoveryMethod,
    pub interface: String,
    pub name: Option<MdnsHostName>,
    pub places: Vec<CandidateAddress>,
}

/// A machine that may be a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeCandidate {
    pub names: BTreeSet<MdnsHostName>,
    pub places: BTreeSet<CandidateAddress>,
    pub interfaces: BTreeSet<String>,
    pub macs: BTreeSet<HardwareAddress>,
    pub via: BTreeSet<DiscoveryMethod>,
}

impl NodeCandidate {
    /// One of its hardware addresses, rather one of a maker that we know.
    pub fn mac(&self) -> Option<&HardwareAddress> {
        let known = self.macs.iter().find(|mac| vendor(mac).is_some());
        known.or(self.macs.first())
    }

    fn is_same(&self, other: &Self) -> bool {
        !self.names.is_disjoint(&other.names)
            || !self.places.is_disjoint(&other.places)
            || !self.macs.is_disjoint(&other.macs)
    }

    fn absorb(&mut self, other: Self) {
        self.names.extend(other.names);
        self.places.extend(other.places);
        self.interfaces.extend(other.interfaces);
        self.macs.extend(other.macs);
        self.via.extend(other.via);
    }
}

/// What is this machine's.
#[derive(Debug, Clone, Default)]
pub struct OwnAddresses {
    pub addresses: BTreeSet<IpAddr>,
    pub macs: BTreeSet<HardwareAddress>,
}

impl OwnAddresses {
    fn has(&self, candidate: &NodeCandidate) -> bool {
        let mut addresses = candidate.places.iter().map(CandidateAddress::address);
        addresses.any(|address| self.addresses.contains(&address))
            || !self.macs.is_disjoint(&candidate.macs)
    }
}

/// Machines, each with all that was heard of it. An answer of our own is dropped before it could be taken for another's.
pub fn candidates(
    sightings: Vec<DiscoveryAnswer>,
    own: &OwnAddresses,
    neighbour: impl Fn(&CandidateAddress) -> Option<HardwareAddress>,
) -> Vec<NodeCandidate> {
    let mut found: Vec<NodeCandidate> = Vec::new();
    for sighting in sightings.into_iter().take(MAX_SIGHTINGS) {
        let mut new = single(sighting, &neighbour);
        if own.has(&new) || new.places.is_empty() {
            continue;
        }
        let (same, others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|known| known.is_same(&new));
        found = others;
        for known in same {
            new.absorb(known);
        }
        found.push(new);
    }
    found.sort_by(|left, right| order(left).cmp(&order(right)));
    found
}

fn single(
    sighting: DiscoveryAnswer,
    neighbour: impl Fn(&CandidateAddress) -> Option<HardwareAddress>,
) -> NodeCandidate {
    let macs = sighting.places.iter().filter_map(|place| {
        let from_address = match place.address {
            IpAddr::V6(address) => mac_of(address),
            IpAddr::V4(_) => None,
        };
        neighbour(place).or(from_address)
    });
    NodeCandidate {
        macs: macs.collect(),
        names: sighting.name.into_iter().collect(),
        places: sighting.places.into_iter().collect(),
        interfaces: BTreeSet::from([sighting.interface]),
        via: BTreeSet::from([sighting.via]),
    }
}

/// Those with names first.
fn order(candidate: &NodeCandidate) -> (bool, Option<&MdnsHostName>, Option<&CandidateAddress>) {
    let name = candidate.names.first();
    (name.is_none(), name, candidate.places.first())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::DnsName;

    fn sighting(
        via: DiscoveryMethod,
        interface: &str,
        name: &str,
        addresses: &[&str],
    ) -> DiscoveryAnswer {
        let place = |text: &&str| CandidateAddress::new(text.parse().unwrap(), interface, 7);
        DiscoveryAnswer {
            via,
            interface: interface.into(),
            name: MdnsHostName::new(&DnsName::of(name)),
            places: addresses.iter().map(place).collect(),
        }
    }

    fn merged(sightings: Vec<DiscoveryAnswer>) -> Vec<NodeCandidate> {
        let own = OwnAddresses {
            addresses: BTreeSet::from(["192.0.2.1".parse().unwrap()]),
            macs: BTreeSet::from(["02:00:00:00:00:01".parse().unwrap()]),
        };
        candidates(sightings, &own, |_| None)
    }

    #[test]
    fn one_machine_is_one_candidate_however_it_was_heard() {
        let found = merged(vec![
            sighting(DiscoveryMethod::AllNodes, "f0", "", &["fe80::ff:fe00:7"]),
            sighting(DiscoveryMethod::AllNodes, "f1", "", &["fe80::ff:fe00:7"]),
            sighting(DiscoveryMethod::AllNodes, "f1", "", &["fe80::1"]),
            sighting(DiscoveryMethod::Mdns, "eth0", "b.local", &["192.0.2.7"]),
            sighting(
                DiscoveryMethod::Mdns,
                "f0",
                "b.local",
                &["fe80::ff:fe00:7", "10.0.0.7"],
            ),
        ]);
        assert_eq!(found.len(), 2);
        let b = &found[0];
        let places: Vec<_> = b.places.iter().map(CandidateAddress::to_string).collect();
        assert_eq!(
            places,
            [
                "10.0.0.7",
                "192.0.2.7",
                "fe80::ff:fe00:7%f0",
                "fe80::ff:fe00:7%f1"
            ]
        );
        assert_eq!(b.mac().unwrap().to_string(), "02:00:00:00:00:07");
        assert_eq!(b.interfaces.len(), 3);
        assert_eq!(b.via.len(), 2);
        assert_eq!(found[1].places.first().unwrap().to_string(), "fe80::1%f1");
    }

    #[test]
    fn our_own_answers_are_none() {
        let found = merged(vec![
            sighting(DiscoveryMethod::Mdns, "eth0", "a.local", &["192.0.2.1"]),
            sighting(DiscoveryMethod::AllNodes, "f0", "", &["fe80::ff:fe00:1"]),
            sighting(DiscoveryMethod::Mdns, "f0", "nowhere.local", &[]),
        ]);
        assert_eq!(found, []);
        // One that claims our address does not hide another of its name.
        let found = merged(vec![
            sighting(DiscoveryMethod::Mdns, "eth0", "b.local", &["192.0.2.1"]),
            sighting(DiscoveryMethod::Mdns, "eth0", "b.local", &["192.0.2.9"]),
        ]);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn the_same_link_local_address_on_two_links_is_two_machines() {
        let found = merged(vec![
            sighting(DiscoveryMethod::AllNodes, "f0", "", &["fe80::1"]),
            sighting(DiscoveryMethod::AllNodes, "f1", "", &["fe80::1"]),
        ]);
        assert_eq!(found.len(), 2);
    }
}
