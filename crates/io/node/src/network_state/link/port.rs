//! Settings of a bridge's ports, which a port loses when it leaves.

use super::{IFLA_LINKINFO, LINK, request};
use crate::{
    netlink::{
        NetlinkError,
        message::{NetlinkAttributes, text},
    },
    network_state::{
        kernel::KernelNetwork,
        raw_message::{attributes, encode},
        state::SavedLink,
    },
};

const NESTED: u16 = 1 << 15;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const BRIDGE: &str = "bridge";

/// Without what a bridge works out: state, cost (it follows the speed), identifiers, timers, counters.
pub(super) fn settable(info: NetlinkAttributes<'_>) -> Vec<u8> {
    let kind = info.get(IFLA_INFO_SLAVE_KIND).map(text);
    if kind.as_deref() != Some(BRIDGE) {
        return Vec::new();
    }
    let mut told = attributes(info.get(IFLA_INFO_SLAVE_DATA).unwrap_or_default());
    // `IFLA_BRPORT_PRIORITY`, `_MODE` to `_PROXYARP`, `_PROXYARP_WIFI`, `_MULTICAST_ROUTER`, `_MCAST_FLOOD` to `_ISOLATED`,
    // `_LOCKED`, `_MAB`.
    told.retain(|(kind, _)| matches!(kind & !NESTED, 2 | 4..=10 | 12 | 25 | 27..=33 | 39 | 40));
    let mut bytes = Vec::new();
    encode(&told, &mut bytes);
    bytes
}

/// Only what differs: a kernel may not know how to set the rest.
pub(super) fn restore(
    kernel: &mut KernelNetwork,
    old: &SavedLink,
    now: &SavedLink,
) -> Result<(), NetlinkError> {
    let there = attributes(&now.port_settings.0);
    let mut differing = attributes(&old.port_settings.0);
    differing.retain(|one| !there.contains(one));
    if there.is_empty() || differing.is_empty() {
        return Ok(());
    }
    let mut data = Vec::new();
    encode(&differing, &mut data);
    let mut info = Vec::new();
    let kind = BRIDGE.as_bytes().to_vec();
    let parts = [
        (IFLA_INFO_SLAVE_KIND, kind),
        (IFLA_INFO_SLAVE_DATA | NESTED, data),
    ];
    encode(&parts, &mut info);
    let mut message = request(now.index);
    message.attributes.push((IFLA_LINKINFO | NESTED, info));
    kernel.change(LINK.new, 0, &message)
}
