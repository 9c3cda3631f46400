//! Next-hop objects (`ip nexthop`), which routes refer to by number.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    interfaces::{LinkCoverage, LinkMapping, MissingLink},
    kernel::{KernelNetwork, NLM_F_CREATE, NLM_F_REPLACE, ObjectKind},
    obstacle::NetworkRestoreObstacle,
    raw_message::{RawMessage, attributes, encode},
};
use crate::netlink::{NetlinkError, message::u32_at};
use rustix::io::Errno;

/// `nhmsg`: family u8, scope u8, protocol u8, reserved u8, flags u32.
const NEXT_HOP: ObjectKind = ObjectKind {
    get: 106,
    new: 104,
    delete: 105,
    header: 8,
};
const NHA_ID: u16 = 1;
const NHA_GROUP: u16 = 2;
const NHA_OIF: u16 = 5;
const NHA_RES_GROUP: u16 = 12;
const NHA_HW_STATS_ENABLE: u16 = 16;
const RTNH_F_ONLINK: u32 = 4;
/// `nexthop_grp`: number u32, weight u8, three more bytes.
const MEMBER: usize = 8;

/// Those that leave through a covered link, groups with such a member, and with everything the ones without a link.
pub(super) fn read(
    kernel: &mut KernelNetwork,
    coverage: &LinkCoverage,
) -> Result<Vec<RawMessage>, NetlinkError> {
    let told = match kernel.dump(NEXT_HOP, 0) {
        // Kernels before 5.3.
        Err(NetlinkError::Refused(Errno::OPNOTSUPP)) => Vec::new(),
        told => told?,
    };
    let all: Vec<RawMessage> = told.into_iter().map(normal).collect();
    let covers = |hop: &RawMessage| {
        let link: Vec<u32> = hop.u32(NHA_OIF).into_iter().collect();
        coverage.covers_any(&link)
    };
    let direct: BTreeSet<u32> = all.iter().filter(|hop| covers(hop)).map(number).collect();
    let mut kept: Vec<RawMessage> = all
        .into_iter()
        .filter(|hop| {
            direct.contains(&number(hop)) || members(hop).any(|one| direct.contains(&one))
        })
        .collect();
    // A group comes after its members.
    kept.sort_by_key(|hop| (hop.get(NHA_GROUP).is_some(), number(hop)));
    Ok(kept)
}

pub(super) fn numbers(hops: &[RawMessage]) -> BTreeSet<u32> {
    hops.iter().map(number).collect()
}

fn number(hop: &RawMessage) -> u32 {
    hop.u32(NHA_ID).unwrap_or_default()
}

fn members(hop: &RawMessage) -> impl Iterator<Item = u32> {
    let group = hop.get(NHA_GROUP).unwrap_or_default();
    group
        .chunks_exact(MEMBER)
        .filter_map(|entry| u32_at(entry, 0))
}

/// What a request may hold: the kernel refuses the scope that it tells, and counters.
pub(super) fn normal(mut hop: RawMessage) -> RawMessage {
    if let Some(scope) = hop.header.get_mut(1) {
        *scope = 0;
    }
    hop.set_header_u32(4, hop.header_u32(4) & RTNH_F_ONLINK);
    let counts = hop.u32(NHA_HW_STATS_ENABLE).unwrap_or_default() != 0;
    hop.retain(|kind| {
        matches!(kind, 1..=8 | 11 | NHA_RES_GROUP) || (kind == NHA_HW_STATS_ENABLE && counts)
    });
    if let Some(nest) = hop.get(NHA_RES_GROUP) {
        let mut inside = attributes(nest);
        // Buckets and the two timers; not how long it has been unbalanced.
        inside.retain(|(kind, _)| matches!(kind & 0x3fff, 1..=3));
        let mut bytes = Vec::new();
        encode(&inside, &mut bytes);
        hop.set(NHA_RES_GROUP, &bytes);
    }
    hop
}

/// Those of a link that is no more, and groups with such a member: which link that is.
pub(super) fn gone(before: &[RawMessage], interfaces: &LinkMapping) -> BTreeMap<u32, String> {
    let mut gone = BTreeMap::new();
    // Groups come last.
    for hop in before {
        let lost = match translated(hop, interfaces) {
            Ok(_) => members(hop).find_map(|one| gone.get(&one).cloned()),
            Err(MissingLink(interface)) => Some(interface),
        };
        if let Some(interface) = lost {
            gone.insert(number(hop), interface);
        }
    }
    gone
}

fn translated(hop: &RawMessage, interfaces: &LinkMapping) -> Result<RawMessage, MissingLink> {
    let Some(before) = hop.u32(NHA_OIF) else {
        return Ok(hop.clone());
    };
    let now = interfaces.index(before)?;
    Ok(hop.clone().with(NHA_OIF, &now.to_ne_bytes()))
}

pub(super) fn restore(
    kernel: &mut KernelNetwork,
    before: &[RawMessage],
    interfaces: &LinkMapping,
) -> Result<Vec<NetworkRestoreObstacle>, NetlinkError> {
    let mut obstacles = Vec::new();
    let wanted = numbers(before);
    // Groups first, so that they do not fall apart member by member.
    for extra in read(kernel, &interfaces.coverage)?.iter().rev() {
        if !wanted.contains(&number(extra))
            && let Err(source) = delete(kernel, number(extra))
        {
            let call = "RTM_DELNEXTHOP";
            obstacles.push(failed(extra, interfaces, call, source));
        }
    }
    let gone = gone(before, interfaces);
    obstacles.extend(
        gone.iter()
            .map(|(number, interface)| NetworkRestoreObstacle::Gone {
                what: format!("next hop {number}"),
                interface: interface.clone(),
            }),
    );
    let mut now = read(kernel, &interfaces.coverage)?;
    let there = before.iter().filter(|hop| !gone.contains_key(&number(hop)));
    for hop in there.filter_map(|hop| translated(hop, interfaces).ok()) {
        if now.contains(&hop) {
            continue;
        }
        let flags = NLM_F_CREATE | NLM_F_REPLACE;
        let mut done = kernel.change(NEXT_HOP.new, flags, &hop);
        // A group cannot take the place of a single one, or the other way round.
        if done.is_err() && delete(kernel, number(&hop)).is_ok() {
            done = kernel.change(NEXT_HOP.new, flags, &hop);
            now = read(kernel, &interfaces.coverage)?;
        }
        if let Err(source) = done {
            obstacles.push(failed(&hop, interfaces, "RTM_NEWNEXTHOP", source));
        }
    }
    Ok(obstacles)
}

fn delete(kernel: &mut KernelNetwork, number: u32) -> Result<(), NetlinkError> {
    let request = RawMessage::new(&[0; NEXT_HOP.header]).with(NHA_ID, &number.to_ne_bytes());
    match kernel.change(NEXT_HOP.delete, 0, &request) {
        // It went with another.
        Err(NetlinkError::Refused(Errno::NOENT)) => Ok(()),
        done => done,
    }
}

fn failed(
    hop: &RawMessage,
    interfaces: &LinkMapping,
    call: &'static str,
    source: NetlinkError,
) -> NetworkRestoreObstacle {
    let over = hop.u32(NHA_OIF).map(|index| interfaces.name_now(index));
    let over = over.map(|name| format!(" over {name}")).unwrap_or_default();
    let what = format!("next hop {}{over}", number(hop));
    NetworkRestoreObstacle::Kernel { what, call, source }
}
