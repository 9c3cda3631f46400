//! Routes of all tables, as raw messages.

mod restore;

use std::collections::BTreeSet;

use super::{
    interfaces::{LinkCoverage, LinkMapping},
    kernel::{KernelNetwork, ObjectKind},
    raw_message::RawMessage,
    state::SavedRoute,
};
use crate::netlink::{
    NetlinkError,
    message::{AF_INET6, address, u16_at, u32_at},
};

pub(super) use restore::restore;
#[cfg(test)]
pub(super) use restore::translated;

/// `rtmsg`: family, destination length, source length, TOS, table, protocol, scope, type: u8 each; flags u32.
const ROUTE: ObjectKind = ObjectKind {
    get: 26,
    new: 24,
    delete: 25,
    header: 12,
};
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_PREFSRC: u16 = 7;
const RTA_MULTIPATH: u16 = 9;
const RTA_CACHEINFO: u16 = 12;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTA_ENCAP_TYPE: u16 = 21;
const RTA_ENCAP: u16 = 22;
const RTA_EXPIRES: u16 = 23;
const RTA_TTL_PROPAGATE: u16 = 26;
const RTA_NH_ID: u16 = 30;

const RTM_F_CLONED: u32 = 0x200;
const RTNH_F_ONLINK: u8 = 4;
const RTPROT_REDIRECT: u8 = 1;
const RTPROT_KERNEL: u8 = 2;
const RTPROT_RA: u8 = 9;
const RTN_UNICAST: u8 = 1;
const RT_TABLE_LOCAL: u32 = 255;
/// Ticks of a second in what the kernel tells (`USER_HZ`).
const USER_HZ: u32 = 100;
/// `rtnexthop`: length u16, flags u8, weight less one u8, index i32.
const HOP: usize = 8;

/// The routes that leave through a covered link or one of these next hops.
pub(super) fn read(
    kernel: &mut KernelNetwork,
    coverage: &LinkCoverage,
    next_hops: &BTreeSet<u32>,
) -> Result<Vec<SavedRoute>, NetlinkError> {
    let told = kernel.dump_both(ROUTE)?;
    let mut routes: Vec<SavedRoute> = told.into_iter().filter_map(parse).collect();
    routes.retain(|route| {
        let hop = route.message.u32(RTA_NH_ID);
        coverage.covers_any(&links(&route.message))
            || hop.is_some_and(|hop| next_hops.contains(&hop))
    });
    // Stable: routes alike in all of this keep their order, which is a setting.
    routes.sort_by_key(|route| key(&route.message));
    Ok(routes)
}

fn key(route: &RawMessage) -> (u8, u32, Vec<u8>, u8, u8, u32) {
    (
        route.header_u8(0),
        table(route),
        route.get(RTA_DST).unwrap_or_default().to_vec(),
        route.header_u8(1),
        route.header_u8(3),
        route.u32(RTA_PRIORITY).unwrap_or_default(),
    )
}

fn table(route: &RawMessage) -> u32 {
    route
        .u32(RTA_TABLE)
        .unwrap_or_else(|| route.header_u8(4).into())
}

/// `None` is a route that comes and goes without anybody's doing.
pub(super) fn parse(mut message: RawMessage) -> Option<SavedRoute> {
    let protocol = message.header_u8(5);
    if message.header_u32(8) & RTM_F_CLONED != 0
        || matches!(protocol, 0 | RTPROT_REDIRECT | RTPROT_RA)
    {
        return None;
    }
    let expires = expires(&message);
    let by_kernel = protocol == RTPROT_KERNEL;
    if by_kernel && !is_of_an_address(&message, expires) {
        return None;
    }
    normalise(&mut message);
    Some(SavedRoute {
        message,
        expires,
        by_kernel,
    })
}

/// The kernel makes it once, with the address; who deletes it has to add it again.
fn is_of_an_address(route: &RawMessage, expires: Option<u32>) -> bool {
    let is_link_local = route.header_u8(0) == AF_INET6
        && route
            .get(RTA_DST)
            .is_none_or(|net| net.starts_with(&[0xfe, 0x80]));
    let is_unicast = route.header_u8(7) == RTN_UNICAST && table(route) != RT_TABLE_LOCAL;
    is_unicast && !is_link_local && expires.is_none()
}

/// `rta_cacheinfo`: references, last use, expiry, …: u32 each.
fn expires(route: &RawMessage) -> Option<u32> {
    let ticks = u32_at(route.get(RTA_CACHEINFO)?, 8)?;
    // Negative ones have expired.
    (ticks != 0 && ticks.cast_signed() > 0).then_some(ticks.div_ceil(USER_HZ))
}

/// Without counters, carrier and offload; and where a next-hop object says the way, without its copy.
fn normalise(route: &mut RawMessage) {
    let has_object = route.get(RTA_NH_ID).is_some();
    let kept = if has_object { 0 } else { RTNH_F_ONLINK.into() };
    route.set_header_u32(8, route.header_u32(8) & kept);
    route.retain(|kind| {
        let is_way = matches!(
            kind,
            RTA_OIF
                | RTA_GATEWAY
                | RTA_VIA
                | RTA_MULTIPATH
                | RTA_ENCAP
                | RTA_ENCAP_TYPE
                | RTA_TTL_PROPAGATE
        );
        kind != RTA_CACHEINFO && !(is_way && has_object)
    });
    each_hop(route, |hop| {
        if let Some(flags) = hop.get_mut(2) {
            *flags &= RTNH_F_ONLINK;
        }
    });
}

/// Goes over the fixed parts of the paths side by side.
fn each_hop(route: &mut RawMessage, mut visit: impl FnMut(&mut [u8])) {
    let Some(paths) = route.get(RTA_MULTIPATH) else {
        return;
    };
    let mut paths = paths.to_vec();
    let mut start = 0;
    while let Some(length) = u16_at(&paths, start) {
        let Some(fixed) = paths.get_mut(start..start + HOP) else {
            break;
        };
        visit(fixed);
        if usize::from(length) < HOP {
            break;
        }
        start += usize::from(length).next_multiple_of(4);
    }
    route.set(RTA_MULTIPATH, &paths);
}

/// The indexes of all links that it leaves through.
pub(super) fn links(route: &RawMessage) -> Vec<u32> {
    let mut indexes: Vec<u32> = route.u32(RTA_OIF).into_iter().collect();
    each_hop(&mut route.clone(), |hop| indexes.extend(u32_at(hop, 4)));
    indexes
}

/// With the interfaces of now that it leaves through.
fn describe_over(route: &RawMessage, interfaces: &LinkMapping) -> String {
    let names: Vec<String> = links(route)
        .into_iter()
        .map(|index| interfaces.name_now(index))
        .collect();
    match (names.as_slice(), route.u32(RTA_NH_ID)) {
        ([], None) => describe(route),
        ([], Some(hop)) => format!("{} over next hop {hop}", describe(route)),
        (names, _) => format!("{} over {}", describe(route), names.join(" and ")),
    }
}

fn describe(route: &RawMessage) -> String {
    let destination = match route.get(RTA_DST).and_then(address) {
        Some(net) => format!("{net}/{}", route.header_u8(1)),
        None if route.header_u8(0) == AF_INET6 => "default (IPv6)".to_owned(),
        None => "default".to_owned(),
    };
    match table(route) {
        254 => format!("route {destination}"),
        number => format!("route {destination} in table {number}"),
    }
}
