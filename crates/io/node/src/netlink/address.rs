//! Addresses of interfaces (`RTM_GETADDR`), in the shape of `addr_info` in `ip -j addr show`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    json_object::JsonObject,
    message::{AF_INET, AF_INET6, NetlinkAttributes, NetlinkRequest, u32_at},
    names,
    socket::{NetlinkError, NetlinkSocket},
};

const RTM_NEWADDR: u16 = 20;
const RTM_GETADDR: u16 = 22;
/// `ifaddrmsg`: family u8, prefix length u8, flags u8, scope u8, index u32.
const FIXED: usize = 8;

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_LABEL: u16 = 3;
const IFA_BROADCAST: u16 = 4;
const IFA_CACHEINFO: u16 = 6;
const IFA_FLAGS: u16 = 8;
const IFA_RT_PRIORITY: u16 = 9;

/// Secondary, for IPv4; temporary, for IPv6.
const IFA_F_SECONDARY: u32 = 0x01;
const IFA_F_PERMANENT: u32 = 0x80;
const FLAGS: [(u32, &str); 10] = [
    (0x02, "nodad"),
    (0x04, "optimistic"),
    (0x08, "dadfailed"),
    (0x10, "home"),
    (0x20, "deprecated"),
    (0x40, "tentative"),
    (0x100, "mngtmpaddr"),
    (0x200, "noprefixroute"),
    (0x400, "autojoin"),
    (0x800, "stable-privacy"),
];

/// The addresses of every interface, by its index.
pub(super) fn read(socket: &mut NetlinkSocket) -> Result<BTreeMap<u32, Vec<Value>>, NetlinkError> {
    let answer = socket.dump(&NetlinkRequest::new(RTM_GETADDR, &[0; FIXED]))?;
    let mut addresses: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for (kind, body) in answer.iter() {
        if kind == RTM_NEWADDR
            && let Some((index, object)) = describe(body)
        {
            addresses.entry(index).or_default().push(object.into());
        }
    }
    Ok(addresses)
}

pub(super) fn describe(body: &[u8]) -> Option<(u32, JsonObject)> {
    let (&family, &prefix, &scope) = (body.first()?, body.get(1)?, body.get(3)?);
    let index = u32_at(body, 4)?;
    let attributes = NetlinkAttributes::behind(body, FIXED);
    let mut object = JsonObject::default();
    match family {
        AF_INET => object.put("family", "inet"),
        AF_INET6 => object.put("family", "inet6"),
        _ => return None,
    }
    let given = attributes.address(IFA_ADDRESS);
    let local = attributes.address(IFA_LOCAL).or(given)?;
    object.put("local", local.to_string());
    if let Some(peer) = given.filter(|peer| *peer != local) {
        object.put("address", peer.to_string());
    }
    object.put("prefixlen", prefix);
    object.put_some("metric", attributes.u32(IFA_RT_PRIORITY));
    let broadcast = attributes.address(IFA_BROADCAST);
    object.put_some("broadcast", broadcast.map(|address| address.to_string()));
    object.put("scope", names::scope(scope));
    object.put_some("label", attributes.text(IFA_LABEL));
    let flags = attributes
        .u32(IFA_FLAGS)
        .unwrap_or_else(|| body.get(2).copied().unwrap_or_default().into());
    if flags & IFA_F_PERMANENT == 0 {
        object.put("dynamic", true);
    }
    if flags & IFA_F_SECONDARY != 0 {
        let word = if family == AF_INET6 {
            "temporary"
        } else {
            "secondary"
        };
        object.put(word, true);
    }
    for (_, word) in FLAGS.iter().filter(|(bit, _)| flags & bit != 0) {
        object.put(word, true);
    }
    // `ifa_cacheinfo`: preferred, valid, created, changed; seconds, all ones for ever.
    if let Some(lifetimes) = attributes.get(IFA_CACHEINFO)
        && let (Some(preferred), Some(valid)) = (u32_at(lifetimes, 0), u32_at(lifetimes, 4))
    {
        object.put("valid_life_time", valid);
        object.put("preferred_life_time", preferred);
    }
    Some((index, object))
}
