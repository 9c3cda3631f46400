//! What the kernel says over netlink, in the shapes that iproute2's JSON has.
//!
//! The parsers behind it read captures that may come from the commands themselves, so the keys and words here are
//! theirs; the numbers are those of the kernel's `uapi` headers.

mod address;
mod bitset;
mod dcb;
pub mod dcb_port;
mod ethtool;
mod json_object;
mod link;
pub mod link_client;
mod link_kind;
pub mod message;
mod names;
mod neighbour;
mod packet_filter;
mod rdma;
mod route;
mod rule;
pub mod socket;
#[cfg(test)]
mod tests;

use crosstie_facts::ReadGap;
use serde_json::Value;

pub use dcb::qos;
pub use ethtool::EthtoolSocket;
pub(crate) use neighbour::NeighbourLookup;
pub use packet_filter::has_packet_filter;
pub use rdma::queue_pairs;
pub use socket::NetlinkError;

use link::LinkTable;
use socket::NetlinkSocket;

/// What routing knows of this network namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelNetworkTables {
    /// `ip -j -d addr show`
    pub addresses: Result<Value, ReadGap>,
    /// `ip -j route show table all`
    pub routes: Result<Value, ReadGap>,
    /// `ip -j rule show`, IPv4 then IPv6, each with its `family`
    pub rules: Result<Value, ReadGap>,
    /// `ip -j neigh show`
    pub neighbours: Result<Value, ReadGap>,
}

/// Reads them all, over one socket.
pub fn tables() -> KernelNetworkTables {
    let (mut socket, links) = match open() {
        Ok(opened) => opened,
        Err(error) => return KernelNetworkTables::unread(&error.into()),
    };
    let addresses = address::read(&mut socket).map(|addresses| links.to_json(addresses));
    KernelNetworkTables {
        addresses: addresses.map_err(ReadGap::from),
        routes: route::read(&mut socket, &links).map_err(ReadGap::from),
        rules: rule::read(&mut socket).map_err(ReadGap::from),
        neighbours: neighbour::read(&mut socket, &links).map_err(ReadGap::from),
    }
}

fn open() -> Result<(NetlinkSocket, LinkTable), NetlinkError> {
    let mut socket = NetlinkSocket::open(None)?;
    let links = LinkTable::read(&mut socket)?;
    Ok((socket, links))
}

/// Every address that was sought on a link, and who has it.
pub(crate) fn neighbours() -> Result<Vec<NeighbourLookup>, NetlinkError> {
    let (mut socket, links) = open()?;
    neighbour::sought(&mut socket, &links)
}

/// `None` where there is no such interface.
pub(crate) fn mtu(interface: &str) -> Option<u32> {
    let (_, links) = open().ok()?;
    links.mtu(interface)
}

impl KernelNetworkTables {
    fn unread(gap: &ReadGap) -> Self {
        let gap = || Err(gap.clone());
        Self {
            addresses: gap(),
            routes: gap(),
            rules: gap(),
            neighbours: gap(),
        }
    }
}
