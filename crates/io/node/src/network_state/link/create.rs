//! Virtual links that were deleted, made again from the settings that the kernel told of them.

use super::{
    IFLA_ADDRESS, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINK, IFLA_LINKINFO, IFLA_MTU,
    LINK, request,
};
use crate::{
    netlink::{NetlinkError, message::u32_at},
    network_state::{
        interfaces::Interfaces,
        kernel::{Kernel, NLM_F_CREATE, NLM_F_EXCL},
        obstacle::Obstacle,
        raw_message::{RawMessage, attributes, encode},
        state::{Link, NetworkState},
    },
};
use rustix::io::Errno;

const NESTED: u16 = 1 << 15;
const VETH_INFO_PEER: u16 = 1;
const IFLA_VXLAN_LINK: u16 = 3;
const IFLA_VXLAN_REMCSUM_RX: u16 = 22;
const IFLA_VXLAN_TTL_INHERIT: u16 = 28;
const IFLA_BOND_MODE: u16 = 1;
const IFLA_BR_VLAN_FILTERING: u16 = 7;
const IFLA_BR_MULTI_BOOLOPT: u16 = 46;

const RECREATABLE: [&str; 8] = [
    "bridge", "dummy", "vlan", "bond", "macvlan", "vxlan", "vrf", "veth",
];

/// Without what is told and not taken, or counts: timers, identifiers that a bridge works out, members of a bond.
pub(super) fn settable(kind: &str, mut told: Vec<(u16, Vec<u8>)>) -> Vec<u8> {
    told.retain(|(attribute, _)| match kind {
        // `IFLA_BR_ROOT_ID` to `IFLA_BR_GC_TIMER`; `IFLA_BR_PAD`, `IFLA_BR_MCAST_QUERIER_STATE`, `IFLA_BR_FDB_N_LEARNED`.
        "bridge" => !matches!(attribute & !NESTED, 10..=19 | 40 | 47 | 48),
        // `IFLA_BOND_ACTIVE_SLAVE`, `IFLA_BOND_PRIMARY`, `IFLA_BOND_AD_INFO`.
        "bond" => !matches!(attribute & !NESTED, 2 | 11 | 23),
        // `IFLA_MACVLAN_MACADDR_COUNT`, `IFLA_MACVLAN_BC_QUEUE_LEN_USED`.
        "macvlan" => !matches!(attribute & !NESTED, 6 | 8),
        _ => true,
    });
    // Switched off is how they begin, and a kernel refuses to switch off what it was built without.
    told.retain(|(attribute, data)| {
        let is_switch = match kind {
            "bridge" => *attribute == IFLA_BR_VLAN_FILTERING,
            "vxlan" => matches!(*attribute, IFLA_VXLAN_REMCSUM_RX | IFLA_VXLAN_TTL_INHERIT),
            _ => false,
        };
        !is_switch || data != &[0]
    });
    for (attribute, data) in &mut told {
        match (kind, *attribute) {
            // `br_boolopt_multi`: the switches, and a mask of those that are told.
            ("bridge", IFLA_BR_MULTI_BOOLOPT) => {
                if let Some(on) = u32_at(data, 0) {
                    *data = [on, on].map(u32::to_ne_bytes).concat();
                }
            }
            // Told as a number, taken as a flag.
            ("vxlan", IFLA_VXLAN_TTL_INHERIT) => data.clear(),
            _ => {}
        }
    }
    let mut bytes = Vec::new();
    encode(&told, &mut bytes);
    bytes
}

/// Those whose lower link comes back first get their turn later. `Interfaces` is read anew by the caller.
pub(in crate::network_state) fn create_missing(
    kernel: &mut Kernel,
    before: &NetworkState,
) -> Result<Vec<Obstacle>, NetlinkError> {
    let mut obstacles = Vec::new();
    let mut refused: Vec<u32> = Vec::new();
    loop {
        let interfaces = Interfaces::read(kernel, before)?;
        let links = before.links.as_deref().unwrap_or_default();
        let mut missing = links
            .iter()
            .filter(|link| interfaces.index(link.index).is_err() && !refused.contains(&link.index));
        let ready = |link: &&Link| {
            let parent = link.parent.filter(|_| !link.parent_elsewhere);
            link.kind == "veth" || parent.is_none_or(|parent| interfaces.index(parent).is_ok())
        };
        let Some(link) = missing.clone().find(ready).or_else(|| missing.next()) else {
            return Ok(obstacles);
        };
        // Whatever comes of it, each is tried once.
        refused.push(link.index);
        match create(kernel, &interfaces, link, links) {
            Ok(None) => {}
            Ok(Some(obstacle)) | Err(obstacle) => obstacles.push(obstacle),
        }
    }
}

fn create(
    kernel: &mut Kernel,
    interfaces: &Interfaces,
    link: &Link,
    all: &[Link],
) -> Result<Option<Obstacle>, Obstacle> {
    let name = || link.name.clone();
    if link.kind.is_empty() {
        return Err(Obstacle::Gone {
            what: "all settings".to_owned(),
            interface: name(),
        });
    }
    let peer = link
        .parent
        .and_then(|index| all.iter().find(|other| other.index == index));
    let peer = peer.filter(|_| link.kind == "veth" && !link.parent_elsewhere);
    let peer_is_missing = peer.is_some_and(|peer| interfaces.index(peer.index).is_err());
    if !RECREATABLE.contains(&link.kind.as_str()) || (link.kind == "veth" && !peer_is_missing) {
        return Err(Obstacle::NotRecreatable {
            interface: name(),
            kind: link.kind.clone(),
        });
    }
    let mut first = None;
    let is_reduced = link.kind != "veth";
    for settings in ladder(link, peer, interfaces) {
        match send(kernel, interfaces, link, &settings) {
            Ok(()) => {
                let first = first.filter(|_| is_reduced);
                return Ok(first.map(|source| Obstacle::DefaultSettings {
                    interface: name(),
                    kind: link.kind.clone(),
                    source,
                }));
            }
            Err(source) => {
                first.get_or_insert(source);
            }
        }
    }
    let source = first.unwrap_or(NetlinkError::Refused(Errno::OPNOTSUPP));
    Err(Obstacle::Kernel {
        what: format!("{} ({})", link.name, link.kind),
        call: "RTM_NEWLINK",
        source,
    })
}

/// All settings; of a bond, which refuses those of other modes, the mode and what goes with every mode; none.
fn ladder(link: &Link, peer: Option<&Link>, interfaces: &Interfaces) -> Vec<Vec<u8>> {
    if let Some(peer) = peer {
        // With its old index; and without, which may be another's by now.
        let rungs = [peer.index, 0].map(|index| {
            let mut inside = basics(peer);
            inside.set_header_u32(4, index);
            let mut attribute = Vec::new();
            encode(&[(VETH_INFO_PEER | NESTED, inside.body())], &mut attribute);
            attribute
        });
        return rungs.to_vec();
    }
    let mut all = attributes(&link.settings.0);
    for (attribute, data) in &mut all {
        if link.kind == "vxlan"
            && *attribute & !NESTED == IFLA_VXLAN_LINK
            && let Some(index) = u32_at(data, 0)
            && let Ok(now) = interfaces.index(index)
        {
            *data = now.to_ne_bytes().to_vec();
        }
    }
    let encoded = |list: &[(u16, Vec<u8>)]| {
        let mut bytes = Vec::new();
        encode(list, &mut bytes);
        bytes
    };
    let mut rungs = vec![encoded(&all)];
    if link.kind == "bond" {
        let mode = all.iter().find(|(kind, _)| *kind == IFLA_BOND_MODE);
        let is_lacp = mode.is_some_and(|(_, data)| data == &[4]);
        all.retain(|(kind, _)| match kind {
            // Mode, link monitoring and its delays; the hash of those modes that have one, the rate of LACP.
            1 | 3 | 4 | 5 => true,
            14 | 21 => is_lacp,
            _ => false,
        });
        rungs.push(encoded(&all));
    }
    // A VLAN without a number, or a VXLAN without one, is nothing.
    if matches!(link.kind.as_str(), "bridge" | "dummy" | "bond" | "macvlan") {
        rungs.push(Vec::new());
    }
    rungs
}

/// With its old index, so that what names it by index needs no translation.
fn basics(link: &Link) -> RawMessage {
    let mut name = link.name.as_bytes().to_vec();
    name.push(0);
    let message = request(link.index).with(IFLA_IFNAME, &name);
    let message = message.with(IFLA_MTU, &link.mtu.to_ne_bytes());
    if link.mac.0.is_empty() {
        return message;
    }
    message.with(IFLA_ADDRESS, &link.mac.0)
}

fn send(
    kernel: &mut Kernel,
    interfaces: &Interfaces,
    link: &Link,
    settings: &[u8],
) -> Result<(), NetlinkError> {
    let mut info = Vec::new();
    let kind = (IFLA_INFO_KIND, link.kind.as_bytes().to_vec());
    let data = (IFLA_INFO_DATA | NESTED, settings.to_vec());
    let parts = if settings.is_empty() {
        vec![kind]
    } else {
        vec![kind, data]
    };
    encode(&parts, &mut info);
    let mut message = basics(link);
    let parent = link.parent.filter(|_| link.kind != "veth");
    if let Some(parent) = parent.and_then(|parent| interfaces.index(parent).ok()) {
        message.set(IFLA_LINK, &parent.to_ne_bytes());
    }
    message.attributes.push((IFLA_LINKINFO | NESTED, info));
    let flags = NLM_F_CREATE | NLM_F_EXCL;
    match kernel.change(LINK.new, flags, &message) {
        // Its index is another's by now.
        Err(NetlinkError::Refused(Errno::EXIST | Errno::BUSY)) => {
            message.set_header_u32(4, 0);
            kernel.change(LINK.new, flags, &message)
        }
        done => done,
    }
}
