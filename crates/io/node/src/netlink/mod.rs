//! What the kernel says over netlink, in the shapes that iproute2's JSON has.
//!
//! The parsers behind it read captures that may come from the commands themselves, so the keys and words here are
//! theirs; the numbers are those of the kernel's `uapi` headers.

mod address;
mod bitset;
mod dcb;
pub mod dcb_port;
mod ethtool;
mod link;
mod link_kind;
pub mod links;
pub mod message;
mod names;
mod neighbour;
mod object;
mod packet_filter;
mod rdma;
mod route;
mod rule;
pub mod socket;
#[cfg(test)]
mod tests;

use crosstie_facts::Gap;
use serde_json::Value;

pub use dcb::qos;
pub use ethtool::Ethtool;
pub(crate) use neighbour::Neighbour;
pub use packet_filter::has_packet_filter;
pub use rdma::queue_pairs;
pub use socket::NetlinkError;

use link::Links;
use socket::Socket;

/// What routing knows of this network namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// `ip -j -d addr show`
    pub addresses: Result<Value, Gap>,
    /// `ip -j route show table all`
    pub routes: Result<Value, Gap>,
    /// `ip -j rule show`, IPv4 then IPv6, each with its `family`
    pub rules: Result<Value, Gap>,
    /// `ip -j neigh show`
    pub neighbours: Result<Value, Gap>,
}

/// Reads them all, over one socket.
pub fn tables() -> Tables {
    let (mut socket, links) = match open() {
        Ok(opened) => opened,
        Err(error) => return Tables::unread(&error.into()),
    };
    let addresses = address::read(&mut socket).map(|addresses| links.to_json(addresses));
    Tables {
        addresses: addresses.map_err(Gap::from),
        routes: route::read(&mut socket, &links).map_err(Gap::from),
        rules: rule::read(&mut socket).map_err(Gap::from),
        neighbours: neighbour::read(&mut socket, &links).map_err(Gap::from),
    }
}

fn open() -> Result<(Socket, Links), NetlinkError> {
    let mut socket = Socket::open(None)?;
    let links = Links::read(&mut socket)?;
    Ok((socket, links))
}

/// Every address that was sought on a link, and who has it.
pub(crate) fn neighbours() -> Result<Vec<Neighbour>, NetlinkError> {
    let (mut socket, links) = open()?;
    neighbour::sought(&mut socket, &links)
}

/// `None` where there is no such interface.
pub(crate) fn mtu(interface: &str) -> Option<u32> {
    let (_, links) = open().ok()?;
    links.mtu(interface)
}

impl Tables {
    fn unread(gap: &Gap) -> Self {
        let gap = || Err(gap.clone());
        Self {
            addresses: gap(),
            routes: gap(),
            rules: gap(),
            neighbours: gap(),
        }
    }
}
