//! Links, as the kernel tells them.

pub(super) mod create;
pub(super) mod identity;
pub(super) mod kind;
pub(super) mod port;
pub(super) mod settings;

use super::{
    kernel::{KernelNetwork, ObjectKind},
    raw_message::{HexBytes, RawMessage, attributes},
    state::{LinkOptions, SavedLink},
};
use crate::netlink::{
    NetlinkError,
    message::{NetlinkAttributes, text},
};

/// `ifinfomsg`: family u8, pad u8, type u16, index i32, flags u32, change u32.
pub(super) const LINK: ObjectKind = ObjectKind {
    get: 18,
    new: 16,
    delete: 17,
    header: 16,
};
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
const IFLA_GROUP: u16 = 27;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_PERM_ADDRESS: u16 = 54;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFF_UP: u32 = 1;
/// `IFF_NOARP`, `IFF_PROMISC`, `IFF_ALLMULTI`, `IFF_MULTICAST`: those that a person sets.
const OPTION_FLAGS: u32 = 0x80 | 0x100 | 0x200 | 0x1000;

pub(super) fn read(kernel: &mut KernelNetwork) -> Result<Vec<SavedLink>, NetlinkError> {
    let messages = kernel.dump(LINK, 0)?;
    Ok(messages.iter().map(parse).collect())
}

pub(super) fn parse(message: &RawMessage) -> SavedLink {
    let info = NetlinkAttributes::new(message.get(IFLA_LINKINFO).unwrap_or_default());
    let own = |kind: u16| HexBytes(message.get(kind).unwrap_or_default().to_vec());
    let settings = info.get(IFLA_INFO_DATA).unwrap_or_default();
    let kind = info.text(IFLA_INFO_KIND).unwrap_or_default();
    SavedLink {
        name: text(message.get(IFLA_IFNAME).unwrap_or_default()),
        index: message.header_u32(4),
        mac: own(IFLA_ADDRESS),
        permanent_mac: own(IFLA_PERM_ADDRESS),
        up: message.header_u32(8) & IFF_UP != 0,
        mtu: message.u32(IFLA_MTU).unwrap_or_default(),
        options: LinkOptions {
            flags: Some(message.header_u32(8) & OPTION_FLAGS),
            transmit_queue: message.u32(IFLA_TXQLEN),
            group: message.u32(IFLA_GROUP),
            alias: Some(own(IFLA_IFALIAS)),
        },
        master: message.u32(IFLA_MASTER).filter(|index| *index != 0),
        parent: message.u32(IFLA_LINK).filter(|index| *index != 0),
        parent_elsewhere: message.get(IFLA_LINK_NETNSID).is_some(),
        port_settings: HexBytes(port::settable(info)),
        settings: HexBytes(kind::settable(&kind, attributes(settings))),
        kind,
    }
}

/// A message to the kernel about one link.
fn request(index: u32) -> RawMessage {
    let mut message = RawMessage::new(&[0; 16]);
    message.set_header_u32(4, index);
    message
}
