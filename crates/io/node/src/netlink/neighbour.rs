//! Neighbours (`RTM_GETNEIGH`), in the shape of `ip -j neigh show`.

use std::net::IpAddr;

use crosstie_model::HardwareAddress;
use serde_json::Value;

use super::{
    json_object::JsonObject,
    link::LinkTable,
    message::{NetlinkAttributes, NetlinkRequest, u16_at, u32_at},
    names,
    socket::{NetlinkError, NetlinkSocket},
};

const RTM_NEWNEIGH: u16 = 28;
const RTM_GETNEIGH: u16 = 30;
/// `ndmsg`: family u8, pad u8, pad u16, index i32, state u16, flags u8, type u8.
const FIXED: usize = 12;

const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NDA_PROTOCOL: u16 = 12;

const NUD_NOARP: u16 = 0x40;
const NTF_PROXY: u8 = 0x08;
const NTF_EXT_LEARNED: u8 = 0x10;

/// `NTF_*`: a key with no value where the flag is set.
const FLAGS: [(u8, &str); 4] = [
    (0x80, "router"),
    (NTF_PROXY, "proxy"),
    (NTF_EXT_LEARNED, "extern_learn"),
    (0x20, "offload"),
];

/// An address that was sought on a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NeighbourLookup {
    pub(crate) address: IpAddr,
    pub(crate) interface: String,
    /// Who says to have it; `None` where nobody does.
    pub(crate) mac: Option<HardwareAddress>,
}

pub(super) fn read(socket: &mut NetlinkSocket, links: &LinkTable) -> Result<Value, NetlinkError> {
    all(socket, |body| describe(body, links)).map(Value::Array)
}

pub(super) fn sought(
    socket: &mut NetlinkSocket,
    links: &LinkTable,
) -> Result<Vec<NeighbourLookup>, NetlinkError> {
    all(socket, |body| {
        let attributes = NetlinkAttributes::behind(body, FIXED);
        let mac = attributes.get(NDA_LLADDR).map(names::hardware_address);
        Some(NeighbourLookup {
            address: attributes.address(NDA_DST)?,
            interface: links.name(u32_at(body, 4)?),
            mac: mac.and_then(|mac| mac.parse().ok()),
        })
    })
}

fn all<T>(
    socket: &mut NetlinkSocket,
    entry: impl Fn(&[u8]) -> Option<T>,
) -> Result<Vec<T>, NetlinkError> {
    let answer = socket.dump(&NetlinkRequest::new(RTM_GETNEIGH, &[0; FIXED]))?;
    let bodies = answer.iter().filter(|(kind, _)| *kind == RTM_NEWNEIGH);
    Ok(bodies.filter_map(|(_, body)| entry(body)).collect())
}

pub(super) fn describe(body: &[u8], links: &LinkTable) -> Option<Value> {
    let index = u32_at(body, 4)?;
    let state = u16_at(body, 8)?;
    let flags = *body.get(10)?;
    // Multicast and loopback entries, which nobody resolved.
    let resolved = state & 0xff & !NUD_NOARP != 0;
    if !resolved && flags & (NTF_PROXY | NTF_EXT_LEARNED) == 0 {
        return None;
    }
    let attributes = NetlinkAttributes::behind(body, FIXED);
    let mut object = JsonObject::default();
    let address = attributes.address(NDA_DST);
    object.put_some("dst", address.map(|address| address.to_string()));
    if index != 0 {
        object.put("dev", links.name(index));
    }
    let hardware = attributes.get(NDA_LLADDR);
    object.put_some("lladdr", hardware.map(names::hardware_address));
    for (_, word) in FLAGS.iter().filter(|(bit, _)| flags & bit != 0) {
        object.put(word, Value::Null);
    }
    if state != 0 {
        let words = names::set_bits(state.into(), &names::NEIGHBOUR_STATES);
        object.put("state", words);
    }
    let protocol = attributes.u8(NDA_PROTOCOL).unwrap_or(0);
    if protocol != 0 {
        object.put("protocol", names::protocol(protocol));
    }
    Some(object.into())
}
