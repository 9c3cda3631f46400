//! Routes as they were.

use std::collections::BTreeSet;

use super::{
    ROUTE, RTA_DST, RTA_EXPIRES, RTA_MULTIPATH, RTA_NH_ID, RTA_OIF, RTA_PREFSRC, describe,
    describe_over, each_hop, read, table,
};
use crate::{
    netlink::{
        NetlinkError,
        message::{AF_INET, u32_at},
    },
    network_state::{
        interfaces::{LinkCoverage, LinkMapping, MissingLink},
        kernel::{KernelNetwork, NLM_F_APPEND, NLM_F_CREATE},
        next_hop,
        obstacle::NetworkRestoreObstacle,
        raw_message::RawMessage,
        state::SavedRoute,
    },
};
use rustix::io::Errno;

/// A deletion may take along what is wanted (paths of IPv6 that grew together), so it is looked at again.
const ROUNDS: usize = 3;
/// How many routes may lead to the gateway of another, one over the other.
const DEEPEST: usize = 8;

pub(in crate::network_state) fn restore(
    kernel: &mut KernelNetwork,
    before: &[SavedRoute],
    interfaces: &LinkMapping,
    next_hops: &[RawMessage],
) -> Result<Vec<NetworkRestoreObstacle>, NetlinkError> {
    // A group that lost a member may still be there.
    let there = next_hop::numbers(&next_hop::read(kernel, &LinkCoverage::Everything)?);
    let mut gone = next_hop::gone(next_hops, interfaces);
    gone.retain(|number, _| !there.contains(number));
    let next_hops = &next_hop::numbers(next_hops);
    let mut obstacles = Vec::new();
    let mut wanted = Vec::new();
    for route in before {
        let hop = route.message.u32(RTA_NH_ID);
        let lost = hop.and_then(|hop| gone.get(&hop).cloned()).map(MissingLink);
        match lost.map_or_else(|| translated(route, interfaces), Err) {
            Ok(route) => wanted.push(route),
            Err(MissingLink(interface)) => obstacles.push(NetworkRestoreObstacle::Gone {
                what: describe(&route.message),
                interface,
            }),
        }
    }
    let mut failed = Vec::new();
    for _ in 0..ROUNDS {
        let now = read(kernel, &interfaces.coverage, next_hops)?;
        let (there, needed) = (keys(&now), keys(&wanted));
        let doubles = |route: &SavedRoute| wanted.iter().any(|other| is_double(route, other));
        let extra = now
            .iter()
            .filter(|route| !route.by_kernel || doubles(route));
        let extra: Vec<&SavedRoute> = extra
            .filter(|route| !needed.contains(&key(route)))
            .collect();
        let missing = wanted.iter().filter(|route| !there.contains(&key(route)));
        let missing: Vec<&SavedRoute> = missing.collect();
        if extra.is_empty() && missing.is_empty() {
            return Ok(obstacles);
        }
        failed = delete_all(kernel, &extra);
        failed.extend(add_all(kernel, missing));
    }
    let now = read(kernel, &interfaces.coverage, next_hops)?;
    let there = keys(&now);
    let tried = failed.iter().map(|(route, ..)| route);
    let tried: BTreeSet<_> = tried.map(key).collect();
    let otherwise = wanted
        .iter()
        .filter(|route| !there.contains(&key(route)) && !tried.contains(&key(route)));
    obstacles.extend(otherwise.map(|route| NetworkRestoreObstacle::Otherwise {
        what: describe_over(&route.message, interfaces),
        call: "RTM_NEWROUTE",
    }));
    for (route, call, source) in failed {
        if there.contains(&key(&route)) == (call == "RTM_DELROUTE") {
            let what = describe_over(&route.message, interfaces);
            obstacles.push(NetworkRestoreObstacle::Kernel { what, call, source });
        }
    }
    Ok(obstacles)
}

/// A route that the kernel, or a manager in its name, has made for an address that had one before: the same way at another
/// metric. Others of the kernel's go with their addresses.
fn is_double(route: &SavedRoute, wanted: &SavedRoute) -> bool {
    let way = |route: &SavedRoute| {
        let attributes =
            [RTA_DST, RTA_OIF, RTA_PREFSRC].map(|kind| route.message.get(kind).map(<[u8]>::to_vec));
        let header = [0, 1].map(|at| route.message.header_u8(at));
        (header, table(&route.message), attributes)
    };
    route.by_kernel && wanted.by_kernel && way(route) == way(wanted)
}

/// Seconds count down; whether there is an end to them is a setting.
fn key(route: &SavedRoute) -> (&RawMessage, bool) {
    (&route.message, route.expires.is_some())
}

fn keys(routes: &[SavedRoute]) -> BTreeSet<(&RawMessage, bool)> {
    routes.iter().map(key).collect()
}

type Failed = (SavedRoute, &'static str, NetlinkError);

fn delete_all(kernel: &mut KernelNetwork, extra: &[&SavedRoute]) -> Vec<Failed> {
    let mut failed = Vec::new();
    for route in extra {
        match kernel.change(ROUTE.delete, 0, &route.message) {
            // It went with another.
            Ok(()) | Err(NetlinkError::Refused(Errno::SRCH)) => {}
            Err(source) => failed.push(((*route).clone(), "RTM_DELROUTE", source)),
        }
    }
    failed
}

/// A gateway may be reached through another of the routes: as long as one is taken, those refused are tried again.
fn add_all(kernel: &mut KernelNetwork, mut missing: Vec<&SavedRoute>) -> Vec<Failed> {
    let mut failed = Vec::new();
    for _ in 0..DEEPEST {
        failed.clear();
        let mut refused = Vec::new();
        let before = missing.len();
        for route in missing {
            if let Err(source) = add(kernel, route) {
                failed.push((route.clone(), "RTM_NEWROUTE", source));
                refused.push(route);
            }
        }
        if refused.is_empty() || refused.len() == before {
            break;
        }
        missing = refused;
    }
    failed
}

fn add(kernel: &mut KernelNetwork, route: &SavedRoute) -> Result<(), NetlinkError> {
    let mut message = route.message.clone();
    if let Some(seconds) = route.expires {
        message.set(RTA_EXPIRES, &seconds.to_ne_bytes());
    }
    // IPv4 keeps several of one metric in order.
    let flags = match message.header_u8(0) {
        AF_INET => NLM_F_CREATE | NLM_F_APPEND,
        _ => NLM_F_CREATE,
    };
    kernel.change(ROUTE.new, flags, &message)
}

pub(in crate::network_state) fn translated(
    route: &SavedRoute,
    interfaces: &LinkMapping,
) -> Result<SavedRoute, MissingLink> {
    let mut route = route.clone();
    if let Some(before) = route.message.u32(RTA_OIF) {
        let now = interfaces.index(before)?;
        route.message.set(RTA_OIF, &now.to_ne_bytes());
    }
    if route.message.get(RTA_MULTIPATH).is_none() {
        return Ok(route);
    }
    let mut gone = None;
    let mut message: RawMessage = route.message;
    each_hop(&mut message, |hop| match u32_at(hop, 4) {
        None | Some(0) => {}
        Some(before) => match interfaces.index(before) {
            Ok(now) => hop[4..].copy_from_slice(&now.to_ne_bytes()),
            Err(missing) => gone = Some(missing),
        },
    });
    route.message = message;
    gone.map_or(Ok(route), Err)
}
