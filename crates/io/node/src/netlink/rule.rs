//! Routing policy (`RTM_GETRULE`), in the shape of `ip -j rule show`, both families in one list.

use std::net::IpAddr;

use serde_json::Value;

use super::{
    json_object::JsonObject,
    message::{AF_INET, AF_INET6, NetlinkAttributes, NetlinkRequest, u16_at, u32_at},
    names,
    socket::{NetlinkError, NetlinkSocket},
};

const RTM_NEWRULE: u16 = 32;
const RTM_GETRULE: u16 = 34;
/// `fib_rule_hdr`: family, destination length, source length, tos, table, two reserved, action: u8 each; flags u32.
const FIXED: usize = 12;

const FRA_DST: u16 = 1;
const FRA_SRC: u16 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_GOTO: u16 = 4;
const FRA_PRIORITY: u16 = 6;
const FRA_FWMARK: u16 = 10;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FRA_FWMASK: u16 = 16;
const FRA_OIFNAME: u16 = 17;
const FRA_L3MDEV: u16 = 19;
const FRA_UID_RANGE: u16 = 20;
const FRA_PROTOCOL: u16 = 21;
const FRA_IP_PROTO: u16 = 22;
const FRA_SPORT_RANGE: u16 = 23;
const FRA_DPORT_RANGE: u16 = 24;

const RTPROT_KERNEL: u8 = 2;

/// `FIB_RULE_*`: a key with no value where the flag is set.
const FLAGS: [(u32, &str); 4] = [
    (0x2, "not"),
    (0x8, "iif_detached"),
    (0x10, "oif_detached"),
    (0x4, "unresolved"),
];

pub(super) fn read(socket: &mut NetlinkSocket) -> Result<Value, NetlinkError> {
    let mut rules = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let mut fixed = [0; FIXED];
        fixed[0] = family;
        let answer = socket.dump(&NetlinkRequest::new(RTM_GETRULE, &fixed))?;
        let bodies = answer.iter().filter(|(kind, _)| *kind == RTM_NEWRULE);
        rules.extend(bodies.filter_map(|(_, body)| describe(body)));
    }
    Ok(rules.into())
}

pub(super) fn describe(body: &[u8]) -> Option<Value> {
    let fixed: &[u8; FIXED] = body.get(..FIXED)?.try_into().ok()?;
    let [
        family,
        to_length,
        from_length,
        _,
        short_table,
        _,
        _,
        action,
        ..,
    ] = *fixed;
    let flags = u32_at(body, 8)?;
    let attributes = NetlinkAttributes::behind(body, FIXED);
    let mut object = JsonObject::default();
    // Not in `ip`'s output, which shows one family at a time.
    let family_word = if family == AF_INET { "inet" } else { "inet6" };
    object.put("family", family_word);
    object.put("priority", attributes.u32(FRA_PRIORITY).unwrap_or(0));
    for (_, word) in FLAGS.iter().filter(|(bit, _)| flags & bit != 0) {
        object.put(word, Value::Null);
    }
    let whole = if family == AF_INET { 32 } else { 128 };
    let from = attributes.address(FRA_SRC);
    if from.is_none() && from_length == 0 {
        object.put("src", "all");
    } else {
        put_prefix(&mut object, ["src", "srclen"], from, from_length, whole);
    }
    let to = attributes.address(FRA_DST);
    if to.is_some() || to_length != 0 {
        put_prefix(&mut object, ["dst", "dstlen"], to, to_length, whole);
    }
    put_selectors(attributes, &mut object);
    let table = attributes.u32(FRA_TABLE).unwrap_or(short_table.into());
    if table != 0 {
        object.put("table", names::table(table));
        let shortest = attributes.u32(FRA_SUPPRESS_PREFIXLEN);
        if let Some(shortest) = shortest.filter(|shortest| *shortest != u32::MAX) {
            object.put("suppress_prefixlen", shortest);
        }
    }
    // `FR_ACT_*`
    match action {
        1 => {}
        2 => {
            let target = attributes.u32(FRA_GOTO);
            object.put("goto", target.map_or("none".into(), Value::from));
        }
        3 => object.put("nop", Value::Null),
        other => object.put("action", names::route_type(other)),
    }
    let protocol = attributes.u8(FRA_PROTOCOL).unwrap_or(0);
    if protocol != 0 && protocol != RTPROT_KERNEL {
        object.put("protocol", names::protocol(protocol));
    }
    Some(object.into())
}

/// `ip` leaves the length out where it is that of a whole address.
fn put_prefix(
    object: &mut JsonObject,
    [key, length_key]: [&str; 2],
    address: Option<IpAddr>,
    length: u8,
    whole: u8,
) {
    object.put(
        key,
        address.map_or_else(|| "0".to_owned(), |address| address.to_string()),
    );
    if length != whole {
        object.put(length_key, length);
    }
}

fn put_selectors(attributes: NetlinkAttributes<'_>, object: &mut JsonObject) {
    let mark = attributes.u32(FRA_FWMARK);
    let bits = attributes.u32(FRA_FWMASK);
    if mark.is_some() || bits.is_some() {
        object.put("fwmark", format!("{:#x}", mark.unwrap_or(0)));
        let some = bits.filter(|bits| *bits != u32::MAX);
        object.put_some("fwmask", some.map(|bits| format!("{bits:#x}")));
    }
    for (kind, key) in [(FRA_IIFNAME, "iif"), (FRA_OIFNAME, "oif")] {
        object.put_some(key, attributes.text(kind));
    }
    if attributes.u8(FRA_L3MDEV).unwrap_or(0) != 0 {
        object.put("l3mdev", Value::Null);
    }
    if let Some(range) = attributes.get(FRA_UID_RANGE)
        && let (Some(start), Some(end)) = (u32_at(range, 0), u32_at(range, 4))
    {
        object.put("uid_start", start);
        object.put("uid_end", end);
    }
    object.put_some("ipproto", attributes.u8(FRA_IP_PROTO).map(ip_protocol));
    for (kind, key) in [(FRA_SPORT_RANGE, "sport"), (FRA_DPORT_RANGE, "dport")] {
        let range = attributes.get(kind).unwrap_or_default();
        match (u16_at(range, 0), u16_at(range, 2)) {
            (Some(start), Some(end)) if start == end => object.put(key, start),
            (Some(start), Some(end)) => {
                object.put(&format!("{key}_start"), start);
                object.put(&format!("{key}_end"), end);
            }
            _ => {}
        }
    }
}

/// The words of `/etc/protocols` that a rule can be expected to have.
fn ip_protocol(number: u8) -> String {
    match number {
        1 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        58 => "ipv6-icmp".to_owned(),
        other => other.to_string(),
    }
}
