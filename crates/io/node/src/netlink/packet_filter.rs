//! Whether nftables holds anything (`NFT_MSG_GETTABLE`).

use crosstie_facts::ReadGap;
use rustix::net::netlink::NETFILTER;

use super::{message::NetlinkRequest, socket::NetlinkSocket};

/// The subsystem, nftables, in the upper byte.
const NFT_MSG_NEWTABLE: u16 = 10 << 8;
const NFT_MSG_GETTABLE: u16 = NFT_MSG_NEWTABLE + 1;

/// Whether there is any table of packet filter rules. Needs `CAP_NET_ADMIN`.
pub fn has_packet_filter() -> Result<bool, ReadGap> {
    let mut socket = NetlinkSocket::open(Some(NETFILTER))?;
    // `nfgenmsg`: any family, version 0, resource u16.
    let answer = socket.dump(&NetlinkRequest::new(NFT_MSG_GETTABLE, &[0; 4]))?;
    Ok(answer.iter().any(|(kind, _)| kind == NFT_MSG_NEWTABLE))
}
