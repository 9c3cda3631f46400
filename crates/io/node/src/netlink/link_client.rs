//! One link at a time: what state it is in, up and down.

use rustix::io::Errno;

use super::{
    message::{NetlinkAttributes, NetlinkRequest, u32_at},
    socket::{NetlinkError, NetlinkSocket, NetlinkTransport},
};

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_CARRIER: u16 = 33;
const IFF_UP: u32 = 1;
/// `ifinfomsg`: family u8, pad u8, type u16, index i32, flags u32, change u32.
const FIXED: usize = 16;
const ETHERNET: u16 = 1;

pub struct LinkClient<A = NetlinkSocket>(pub A);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkInfo {
    pub index: u32,
    pub is_up: bool,
    pub is_ethernet: bool,
    /// The kernel tells `false` of every link that is down.
    pub carrier: bool,
    pub mac: Vec<u8>,
}

impl LinkClient {
    pub fn open() -> Result<Self, NetlinkError> {
        NetlinkSocket::open(None).map(Self)
    }
}

impl<A: NetlinkTransport> LinkClient<A> {
    /// `None` is an interface that there is not.
    pub fn find(&mut self, name: &str) -> Result<Option<LinkInfo>, NetlinkError> {
        let request = NetlinkRequest::new(RTM_GETLINK, &[0; FIXED]).text(IFLA_IFNAME, name);
        let answer = match self.0.ask(&request) {
            Err(NetlinkError::Refused(Errno::NODEV)) => return Ok(None),
            answer => answer?,
        };
        let found = answer.iter().find(|(kind, _)| *kind == RTM_NEWLINK);
        Ok(found.and_then(|(_, body)| parse(body)))
    }

    pub fn set_up(&mut self, index: u32, up: bool) -> Result<(), NetlinkError> {
        let mut fixed = [0; FIXED];
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        fixed[8..12].copy_from_slice(&(if up { IFF_UP } else { 0 }).to_ne_bytes());
        fixed[12..16].copy_from_slice(&IFF_UP.to_ne_bytes());
        self.0
            .ask(&NetlinkRequest::new(RTM_NEWLINK, &fixed))
            .map(|_| ())
    }
}

fn parse(body: &[u8]) -> Option<LinkInfo> {
    let flags = u32_at(body, 8)?;
    let attributes = NetlinkAttributes::behind(body, FIXED);
    Some(LinkInfo {
        index: u32_at(body, 4)?,
        is_up: flags & IFF_UP != 0,
        is_ethernet: body.get(2..4)? == ETHERNET.to_ne_bytes(),
        carrier: attributes.u8(IFLA_CARRIER) == Some(1),
        mac: attributes.get(IFLA_ADDRESS).unwrap_or_default().to_vec(),
    })
}
