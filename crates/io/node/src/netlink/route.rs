//! Routes of every table (`RTM_GETROUTE`), in the shape of `ip -j route show table all`.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{
    json_object::JsonObject,
    link::LinkTable,
    message::{AF_INET, AF_INET6, NetlinkAttributes, NetlinkRequest, address, u16_at, u32_at},
    names,
    socket::{NetlinkError, NetlinkSocket},
};

const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
/// `rtmsg`: family, destination length, source length, tos, table, protocol, scope, type: u8 each; flags u32.
const FIXED: usize = 12;

const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_IIF: u16 = 3;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTA_MULTIPATH: u16 = 9;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTA_PREF: u16 = 20;
const RTA_NH_ID: u16 = 30;

const RTN_UNICAST: u8 = 1;
const RTPROT_BOOT: u8 = 3;
const RT_TABLE_MAIN: u32 = 254;
/// A route that was looked up, not configured.
const RTM_F_CLONED: u32 = 0x200;
/// `rtnexthop`: length u16, flags u8, hops u8, index i32.
const NEXT_HOP: usize = 8;

/// `RTAX_*` that a person sets on a route.
const METRICS: [(u16, &str); 8] = [
    (2, "mtu"),
    (3, "window"),
    (7, "cwnd"),
    (8, "advmss"),
    (10, "hoplimit"),
    (11, "initcwnd"),
    (14, "initrwnd"),
    (15, "quickack"),
];

pub(super) fn read(socket: &mut NetlinkSocket, links: &LinkTable) -> Result<Value, NetlinkError> {
    let mut routes = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let mut fixed = [0; FIXED];
        fixed[0] = family;
        let answer = socket.dump(&NetlinkRequest::new(RTM_GETROUTE, &fixed))?;
        let bodies = answer.iter().filter(|(kind, _)| *kind == RTM_NEWROUTE);
        routes.extend(bodies.filter_map(|(_, body)| describe(body, links)));
    }
    Ok(routes.into())
}

pub(super) fn describe(body: &[u8], links: &LinkTable) -> Option<Value> {
    let fixed: &[u8; FIXED] = body.get(..FIXED)?.try_into().ok()?;
    let [
        family,
        to_length,
        from_length,
        _,
        short_table,
        protocol,
        scope,
        kind,
        ..,
    ] = *fixed;
    let flags = u32_at(body, 8)?;
    if flags & RTM_F_CLONED != 0 {
        return None;
    }
    let attributes = NetlinkAttributes::behind(body, FIXED);
    let mut object = JsonObject::default();
    if kind != RTN_UNICAST {
        object.put("type", names::route_type(kind));
    }
    let to = attributes.address(RTA_DST);
    object.put("dst", prefix(to, to_length, family));
    if from_length != 0 {
        let from = attributes.address(RTA_SRC);
        object.put("from", prefix(from, from_length, family));
    }
    object.put_some("nhid", attributes.u32(RTA_NH_ID));
    let out = attributes.u32(RTA_OIF);
    object.put_some("dev", out.map(|index| links.name(index)));
    let arrival = attributes.u32(RTA_IIF);
    object.put_some("iif", arrival.map(|index| links.name(index)));
    let table = attributes.u32(RTA_TABLE).unwrap_or(short_table.into());
    if table != 0 && table != RT_TABLE_MAIN {
        object.put("table", names::table(table));
    }
    if protocol != RTPROT_BOOT {
        object.put("protocol", names::protocol(protocol));
    }
    if scope != 0 {
        object.put("scope", names::scope(scope));
    }
    let source = attributes.address(RTA_PREFSRC);
    object.put_some("prefsrc", source.map(|address| address.to_string()));
    object.put_some("metric", attributes.u32(RTA_PRIORITY));
    object.put("flags", names::set_bits(flags, &names::ROUTE_FLAGS));
    object.put_some("pref", attributes.u8(RTA_PREF).map(preference_word));
    if let Some(metrics) = attributes.nested(RTA_METRICS) {
        object.put("metrics", vec![Value::from(metrics_of(metrics))]);
    }
    if let Some(hops) = attributes.get(RTA_MULTIPATH) {
        object.put("nexthops", next_hops(hops, links));
    }
    put_gateway(attributes, &mut object);
    Some(object.into())
}

/// `ip` leaves the length out where it is that of a whole address.
fn prefix(address: Option<IpAddr>, length: u8, family: u8) -> String {
    let whole = if family == AF_INET { 32 } else { 128 };
    match address {
        Some(address) if length == whole => address.to_string(),
        Some(address) => format!("{address}/{length}"),
        None if length == 0 => "default".to_owned(),
        None => format!("0/{length}"),
    }
}

/// `ICMPV6_ROUTER_PREF_*`
fn preference_word(preference: u8) -> Value {
    match preference {
        0 => "medium".into(),
        1 => "high".into(),
        3 => "low".into(),
        other => other.into(),
    }
}

fn metrics_of(metrics: NetlinkAttributes<'_>) -> JsonObject {
    let mut object = JsonObject::default();
    for (kind, key) in METRICS {
        object.put_some(key, metrics.u32(kind));
    }
    object
}

/// The next hop, in the route's own family or in another one (IPv4 by way of IPv6).
fn put_gateway(attributes: NetlinkAttributes<'_>, object: &mut JsonObject) {
    let gateway = attributes.address(RTA_GATEWAY);
    object.put_some("gateway", gateway.map(|address| address.to_string()));
    // `rtvia`: family u16, then the address.
    let via = attributes.get(RTA_VIA).and_then(|via| via.get(2..));
    if let Some(host) = via.and_then(address) {
        let family = if host.is_ipv4() { "inet" } else { "inet6" };
        let via = json!({ "family": family, "host": host.to_string() });
        object.put("via", via);
    }
}

fn next_hops(mut bytes: &[u8], links: &LinkTable) -> Value {
    let mut hops = Vec::new();
    while let (Some(length), Some(index)) = (u16_at(bytes, 0), u32_at(bytes, 4)) {
        let length = usize::from(length);
        let Some(inside) = bytes.get(NEXT_HOP..length) else {
            break;
        };
        let (flags, weight) = (bytes[2], u16::from(bytes[3]) + 1);
        let mut hop = JsonObject::default();
        put_gateway(NetlinkAttributes::new(inside), &mut hop);
        hop.put("dev", links.name(index));
        hop.put("weight", weight);
        let flags = names::set_bits(flags.into(), &names::ROUTE_FLAGS);
        hop.put("flags", flags);
        hops.push(Value::from(hop));
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    hops.into()
}
