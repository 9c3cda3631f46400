//! Masters, MAC, MTU, options and state of links that are there; and links that are new.

use super::{
    IFF_UP, IFLA_ADDRESS, IFLA_GROUP, IFLA_IFALIAS, IFLA_MASTER, IFLA_MTU, IFLA_TXQLEN, LINK,
    OPTION_FLAGS, kind, port, request,
};
use crate::{
    netlink::NetlinkError,
    network_state::{
        interfaces::{LinkMapping, MissingLink},
        kernel::KernelNetwork,
        obstacle::NetworkRestoreObstacle,
        raw_message::RawMessage,
        state::{LinkOptions, NetworkState, SavedLink, SnapshotScope},
    },
};
use rustix::io::Errno;

fn covered(before: &NetworkState) -> impl Iterator<Item = &SavedLink> {
    let links = before.links.as_deref().unwrap_or_default();
    links.iter().filter(|link| match &before.scope {
        SnapshotScope::Everything => true,
        SnapshotScope::Interfaces(names) => names.contains(&link.name),
    })
}

/// Interfaces of the scope that have gone or have another name.
pub(in crate::network_state) fn missing(
    before: &NetworkState,
    interfaces: &LinkMapping,
) -> Vec<NetworkRestoreObstacle> {
    let told = covered(before).filter_map(|old| match interfaces.link(old.index) {
        Err(MissingLink(interface)) => {
            // Whoever creates links has told already.
            let is_told = before.scope == SnapshotScope::Everything;
            (!is_told).then(|| NetworkRestoreObstacle::Gone {
                what: "all settings".to_owned(),
                interface,
            })
        }
        Ok(now) => (now.name != old.name).then(|| NetworkRestoreObstacle::Renamed {
            interface: old.name.clone(),
            now: now.name.clone(),
        }),
    });
    told.collect()
}

pub(in crate::network_state) fn restore_masters(
    kernel: &mut KernelNetwork,
    before: &NetworkState,
    interfaces: &LinkMapping,
) -> Vec<NetworkRestoreObstacle> {
    let mut obstacles = Vec::new();
    for old in covered(before) {
        let Ok(now) = interfaces.link(old.index) else {
            continue;
        };
        let master = match old.master.map(|master| interfaces.link(master)).transpose() {
            Ok(master) => master,
            Err(MissingLink(master)) => {
                obstacles.push(NetworkRestoreObstacle::Gone {
                    what: format!("the membership of {}", now.name),
                    interface: master,
                });
                continue;
            }
        };
        if now.master == master.map(|master| master.index) {
            continue;
        }
        let mut tell = |what: &str, done: Result<(), NetlinkError>| {
            obstacles.extend(done.err().map(|source| failed(now, what, source)));
        };
        if master.is_some_and(|master| master.kind == "bond") && now.up {
            // A bond takes only links that are down.
            tell("the state", set_up(kernel, now.index, false));
        }
        let index = master.map_or(0, |master| master.index);
        let message = request(now.index).with(IFLA_MASTER, &index.to_ne_bytes());
        tell("the master", kernel.change(LINK.new, 0, &message));
    }
    obstacles
}

/// MAC, MTU, then up or down. A link's MTU may be bounded by that of another, so refusals get a second try.
pub(in crate::network_state) fn restore_settings(
    kernel: &mut KernelNetwork,
    before: &NetworkState,
    interfaces: &LinkMapping,
) -> Vec<NetworkRestoreObstacle> {
    let mut obstacles = Vec::new();
    let mut pending: Vec<(&SavedLink, &SavedLink)> = covered(before)
        .filter_map(|old| Some((old, interfaces.link(old.index).ok()?)))
        .collect();
    for is_last in [false, true] {
        pending.retain(|(old, now)| match set_mtu(kernel, old, now) {
            Ok(()) => false,
            Err(source) => {
                if is_last {
                    obstacles.push(failed(now, "the MTU", source));
                }
                true
            }
        });
    }
    for old in covered(before) {
        let Ok(now) = interfaces.link(old.index) else {
            continue;
        };
        if let Err(source) = set_mac(kernel, old, now) {
            obstacles.push(failed(now, "the MAC address", source));
        }
        if let Err(source) = kind::restore(kernel, interfaces, old, now) {
            let what = format!("the settings as a {}", old.kind);
            obstacles.push(failed(now, &what, source));
        }
        if kind::is_left_changed(interfaces, old, now) {
            obstacles.push(NetworkRestoreObstacle::FixedKind {
                interface: now.name.clone(),
                kind: old.kind.clone(),
            });
        }
        if let Err(source) = port::restore(kernel, old, now) {
            obstacles.push(failed(now, "the bridge port's settings", source));
        }
        if let Err(source) = set_options(kernel, old, now) {
            obstacles.push(failed(now, "the options", source));
        }
        if old.up != now.up
            && let Err(source) = set_up(kernel, now.index, old.up)
        {
            let what = if old.up { "up" } else { "down" };
            obstacles.push(failed(now, what, source));
        }
    }
    obstacles
}

/// A link may vanish at any moment.
fn failed(link: &SavedLink, what: &str, source: NetlinkError) -> NetworkRestoreObstacle {
    if source == NetlinkError::Refused(Errno::NODEV) {
        return NetworkRestoreObstacle::Gone {
            what: what.to_owned(),
            interface: link.name.clone(),
        };
    }
    NetworkRestoreObstacle::Kernel {
        what: format!("{what} of {}", link.name),
        call: "RTM_NEWLINK",
        source,
    }
}

fn set_mtu(
    kernel: &mut KernelNetwork,
    old: &SavedLink,
    now: &SavedLink,
) -> Result<(), NetlinkError> {
    if old.mtu == now.mtu || old.mtu == 0 {
        return Ok(());
    }
    let message = request(now.index).with(IFLA_MTU, &old.mtu.to_ne_bytes());
    kernel.change(LINK.new, 0, &message)
}

/// Members of a bond have its MAC.
fn set_mac(
    kernel: &mut KernelNetwork,
    old: &SavedLink,
    now: &SavedLink,
) -> Result<(), NetlinkError> {
    let is_own = old.mac.0.len() == now.mac.0.len() && old.master.is_none();
    if old.mac == now.mac || !is_own {
        return Ok(());
    }
    let message = request(now.index).with(IFLA_ADDRESS, &old.mac.0);
    match kernel.change(LINK.new, 0, &message) {
        // Many drivers take it only while the link is down.
        Err(NetlinkError::Refused(Errno::BUSY)) if now.up => {
            set_up(kernel, now.index, false)?;
            let done = kernel.change(LINK.new, 0, &message);
            set_up(kernel, now.index, true).and(done)
        }
        done => done,
    }
}

/// Flags, length of the queue, group and alias.
fn set_options(
    kernel: &mut KernelNetwork,
    old: &SavedLink,
    now: &SavedLink,
) -> Result<(), NetlinkError> {
    let LinkOptions {
        flags,
        transmit_queue,
        group,
        alias,
    } = &old.options;
    let mut message = request(now.index);
    if let Some(flags) = flags.filter(|_| *flags != now.options.flags) {
        message.set_header_u32(8, flags);
        message.set_header_u32(12, OPTION_FLAGS);
    }
    if let Some(length) = transmit_queue.filter(|_| *transmit_queue != now.options.transmit_queue) {
        message.set(IFLA_TXQLEN, &length.to_ne_bytes());
    }
    if let Some(group) = group.filter(|_| *group != now.options.group) {
        message.set(IFLA_GROUP, &group.to_ne_bytes());
    }
    if let Some(alias) = alias.as_ref().filter(|_| *alias != now.options.alias) {
        // Ends in a zero as a string; empty, it removes the alias.
        message.set(IFLA_IFALIAS, &alias.0);
    }
    if message == request(now.index) {
        return Ok(());
    }
    kernel.change(LINK.new, 0, &message)
}

fn set_up(kernel: &mut KernelNetwork, index: u32, up: bool) -> Result<(), NetlinkError> {
    let mut message: RawMessage = request(index);
    message.set_header_u32(8, if up { IFF_UP } else { 0 });
    message.set_header_u32(12, IFF_UP);
    kernel.change(LINK.new, 0, &message)
}

/// Virtual links that were made since. One may take others with it: a veth its peer, a bridge none.
pub(in crate::network_state) fn delete_new(
    kernel: &mut KernelNetwork,
    before: &NetworkState,
) -> Result<Vec<NetworkRestoreObstacle>, NetlinkError> {
    let mut obstacles = Vec::new();
    let mut tried = Vec::new();
    loop {
        let interfaces = LinkMapping::read(kernel, before)?;
        let new = interfaces.now.iter().find(|link| {
            let is_new = !interfaces.was_there(link.index) && !link.kind.is_empty();
            is_new && !tried.contains(&link.index)
        });
        let Some(link) = new else {
            return Ok(obstacles);
        };
        tried.push(link.index);
        match kernel.change(LINK.delete, 0, &request(link.index)) {
            Ok(()) | Err(NetlinkError::Refused(Errno::NODEV)) => {}
            Err(source) => obstacles.push(NetworkRestoreObstacle::Kernel {
                what: format!("{}, which is new and should be deleted,", link.name),
                call: "RTM_DELLINK",
                source,
            }),
        }
    }
}
