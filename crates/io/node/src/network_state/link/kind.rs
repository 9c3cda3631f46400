//! Settings that links of a kind have (`IFLA_INFO_DATA`): what of them is kept, sent at creation, and restored.

use super::{IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, LINK, request};
use crate::{
    netlink::{NetlinkError, message::u32_at},
    network_state::{
        interfaces::LinkMapping,
        kernel::KernelNetwork,
        raw_message::{attributes, encode},
        state::SavedLink,
    },
};

const NESTED: u16 = 1 << 15;
const IFLA_BR_VLAN_FILTERING: u16 = 7;
const IFLA_BR_MULTI_BOOLOPT: u16 = 46;
const IFLA_VXLAN_LINK: u16 = 3;
const IFLA_VXLAN_REMCSUM_RX: u16 = 22;
const IFLA_VXLAN_TTL_INHERIT: u16 = 28;
/// Those whose settings can be changed on a link that is there.
const CHANGEABLE: [&str; 5] = ["bridge", "vlan", "bond", "macvlan", "vxlan"];
/// Of those others that tell nothing but settings: some tell what they count, too.
const FIXED: [&str; 17] = [
    "bareudp",
    "erspan",
    "geneve",
    "gre",
    "gretap",
    "ip6erspan",
    "ip6gre",
    "ip6gretap",
    "ip6tnl",
    "ipip",
    "ipoib",
    "ipvlan",
    "sit",
    "vrf",
    "vti",
    "vti6",
    "xfrm",
];

type Settings = Vec<(u16, Vec<u8>)>;

/// Without what is told and not taken, or counts: timers, identifiers that a bridge works out, members of a bond.
pub(super) fn settable(kind: &str, mut told: Settings) -> Vec<u8> {
    told.retain(|(attribute, _)| match kind {
        // `IFLA_BR_ROOT_ID` to `IFLA_BR_GC_TIMER`; `IFLA_BR_PAD`, `IFLA_BR_MCAST_QUERIER_STATE`, `IFLA_BR_FDB_N_LEARNED`.
        "bridge" => !matches!(attribute & !NESTED, 10..=19 | 40 | 47 | 48),
        // `IFLA_BOND_ACTIVE_SLAVE`, `IFLA_BOND_PRIMARY`, `IFLA_BOND_AD_INFO`.
        "bond" => !matches!(attribute & !NESTED, 2 | 11 | 23),
        // `IFLA_MACVLAN_MACADDR_COUNT`, `IFLA_MACVLAN_BC_QUEUE_LEN_USED`.
        "macvlan" => !matches!(attribute & !NESTED, 6 | 8),
        _ => true,
    });
    let mut bytes = Vec::new();
    encode(&told, &mut bytes);
    bytes
}

/// As they have to be now.
fn translated(link: &SavedLink, interfaces: &LinkMapping) -> Settings {
    let mut all = attributes(&link.settings.0);
    for (attribute, data) in &mut all {
        if link.kind == "vxlan"
            && *attribute == IFLA_VXLAN_LINK
            && let Some(index) = u32_at(data, 0)
            && let Ok(now) = interfaces.index(index)
        {
            *data = now.to_ne_bytes().to_vec();
        }
    }
    all
}

pub(super) fn for_creation(link: &SavedLink, interfaces: &LinkMapping) -> Settings {
    let mut all = translated(link, interfaces);
    // Switched off is how they begin, and a kernel refuses to switch off what it was built without.
    all.retain(|(attribute, data)| {
        let is_switch = match link.kind.as_str() {
            "bridge" => *attribute == IFLA_BR_VLAN_FILTERING,
            "vxlan" => matches!(*attribute, IFLA_VXLAN_REMCSUM_RX | IFLA_VXLAN_TTL_INHERIT),
            _ => false,
        };
        !is_switch || data != &[0]
    });
    for (attribute, data) in &mut all {
        match (link.kind.as_str(), *attribute) {
            ("bridge", IFLA_BR_MULTI_BOOLOPT) => {
                let on = u32_at(data, 0).unwrap_or_default();
                *data = switches(on, on);
            }
            // Told as a number, taken as a flag.
            ("vxlan", IFLA_VXLAN_TTL_INHERIT) => data.clear(),
            _ => {}
        }
    }
    all
}

/// `br_boolopt_multi`: values, and a mask of those that are meant.
fn switches(on: u32, meant: u32) -> Vec<u8> {
    [on & meant, meant].map(u32::to_ne_bytes).concat()
}

/// Whether it has other settings of its kind than before, which nothing here restores.
pub(in crate::network_state) fn is_left_changed(
    interfaces: &LinkMapping,
    old: &SavedLink,
    now: &SavedLink,
) -> bool {
    let there = attributes(&now.settings.0);
    FIXED.contains(&old.kind.as_str())
        && old.kind == now.kind
        && translated(old, interfaces)
            .iter()
            .any(|one| !there.contains(one))
}

/// Only what differs: a kernel may not know how to set the rest.
pub(super) fn restore(
    kernel: &mut KernelNetwork,
    interfaces: &LinkMapping,
    old: &SavedLink,
    now: &SavedLink,
) -> Result<(), NetlinkError> {
    let there = attributes(&now.settings.0);
    let mut differing = translated(old, interfaces);
    differing.retain(|one| !there.contains(one));
    if differing.is_empty() || !CHANGEABLE.contains(&old.kind.as_str()) {
        return Ok(());
    }
    for (attribute, data) in &mut differing {
        if old.kind == "bridge" && *attribute == IFLA_BR_MULTI_BOOLOPT {
            let found = there.iter().find(|(kind, _)| kind == attribute);
            let current = found.and_then(|(_, data)| u32_at(data, 0));
            let wanted = u32_at(data, 0).unwrap_or_default();
            *data = switches(wanted, wanted ^ current.unwrap_or_default());
        }
    }
    let mut data = Vec::new();
    encode(&differing, &mut data);
    let mut info = Vec::new();
    let parts = [
        (IFLA_INFO_KIND, old.kind.as_bytes().to_vec()),
        (IFLA_INFO_DATA | NESTED, data),
    ];
    encode(&parts, &mut info);
    let mut message = request(now.index);
    message.attributes.push((IFLA_LINKINFO | NESTED, info));
    kernel.change(LINK.new, 0, &message)
}
