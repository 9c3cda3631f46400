//! Virtual links that were deleted, made again from the settings that the kernel told of them.

use super::{
    IFLA_ADDRESS, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINK, IFLA_LINKINFO, IFLA_MTU,
    LINK, kind, request,
};
use crate::{
    netlink::NetlinkError,
    network_state::{
        interfaces::LinkMapping,
        kernel::{KernelNetwork, NLM_F_CREATE, NLM_F_EXCL},
        obstacle::NetworkRestoreObstacle,
        raw_message::{RawMessage, encode},
        state::{NetworkState, SavedLink},
    },
};
use rustix::io::Errno;

const NESTED: u16 = 1 << 15;
const VETH_INFO_PEER: u16 = 1;
const IFLA_BOND_MODE: u16 = 1;

const RECREATABLE: [&str; 8] = [
    "bridge", "dummy", "vlan", "bond", "macvlan", "vxlan", "vrf", "veth",
];

/// Those whose lower link comes back first get their turn later. `LinkMapping` is read anew by the caller.
pub(in crate::network_state) fn create_missing(
    kernel: &mut KernelNetwork,
    before: &NetworkState,
) -> Result<Vec<NetworkRestoreObstacle>, NetlinkError> {
    let mut obstacles = Vec::new();
    let mut refused: Vec<u32> = Vec::new();
    loop {
        let interfaces = LinkMapping::read(kernel, before)?;
        let links = before.links.as_deref().unwrap_or_default();
        let mut missing = links
            .iter()
            .filter(|link| interfaces.index(link.index).is_err() && !refused.contains(&link.index));
        let ready = |link: &&SavedLink| {
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
    kernel: &mut KernelNetwork,
    interfaces: &LinkMapping,
    link: &SavedLink,
    all: &[SavedLink],
) -> Result<Option<NetworkRestoreObstacle>, NetworkRestoreObstacle> {
    let name = || link.name.clone();
    if link.kind.is_empty() {
        return Err(NetworkRestoreObstacle::Gone {
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
        return Err(NetworkRestoreObstacle::NotRecreatable {
            interface: name(),
            kind: link.kind.clone(),
        });
    }
    make_way(kernel, interfaces, &link.name);
    let mut first = None;
    let is_reduced = link.kind != "veth";
    for settings in ladder(link, peer, interfaces) {
        match send(kernel, interfaces, link, &settings) {
            Ok(()) => {
                let first = first.filter(|_| is_reduced);
                return Ok(first.map(|source| NetworkRestoreObstacle::DefaultSettings {
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
    Err(NetworkRestoreObstacle::Kernel {
        what: format!("{} ({})", link.name, link.kind),
        call: "RTM_NEWLINK",
        source,
    })
}

/// A new link that took the name goes at once; that it cannot is told when new links are deleted.
fn make_way(kernel: &mut KernelNetwork, interfaces: &LinkMapping, name: &str) {
    let taker = interfaces.now.iter().find(|link| link.name == name);
    if let Some(taker) = taker.filter(|link| !link.kind.is_empty())
        && !interfaces.was_there(taker.index)
    {
        let _ = kernel.change(LINK.delete, 0, &request(taker.index));
    }
}

/// All settings; of a bond, which refuses those of other modes, the mode and what goes with every mode; none.
fn ladder(link: &SavedLink, peer: Option<&SavedLink>, interfaces: &LinkMapping) -> Vec<Vec<u8>> {
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
    let mut all = kind::for_creation(link, interfaces);
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
fn basics(link: &SavedLink) -> RawMessage {
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
    kernel: &mut KernelNetwork,
    interfaces: &LinkMapping,
    link: &SavedLink,
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
