//! Links: read from the kernel, and told apart by what they are rather than by their names.

pub(super) mod create;
pub(super) mod settings;

use super::{
    kernel::{Kernel, ObjectKind},
    raw_message::{Hexadecimal, RawMessage, attributes},
    state::Link,
};
use crate::netlink::{
    NetlinkError,
    message::{Attributes, text},
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
const IFLA_LINKINFO: u16 = 18;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_PERM_ADDRESS: u16 = 54;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFF_UP: u32 = 1;

pub(super) fn read(kernel: &mut Kernel) -> Result<Vec<Link>, NetlinkError> {
    let messages = kernel.dump(LINK, 0)?;
    Ok(messages.iter().map(parse).collect())
}

fn parse(message: &RawMessage) -> Link {
    let info = Attributes::new(message.get(IFLA_LINKINFO).unwrap_or_default());
    let own = |kind: u16| Hexadecimal(message.get(kind).unwrap_or_default().to_vec());
    let settings = info.get(IFLA_INFO_DATA).unwrap_or_default();
    let kind = info.text(IFLA_INFO_KIND).unwrap_or_default();
    Link {
        name: text(message.get(IFLA_IFNAME).unwrap_or_default()),
        index: message.header_u32(4),
        mac: own(IFLA_ADDRESS),
        permanent_mac: own(IFLA_PERM_ADDRESS),
        up: message.header_u32(8) & IFF_UP != 0,
        mtu: message.u32(IFLA_MTU).unwrap_or_default(),
        master: message.u32(IFLA_MASTER).filter(|index| *index != 0),
        parent: message.u32(IFLA_LINK).filter(|index| *index != 0),
        parent_elsewhere: message.get(IFLA_LINK_NETNSID).is_some(),
        settings: Hexadecimal(create::settable(&kind, attributes(settings))),
        kind,
    }
}

impl Link {
    /// Hardware keeps its own address whatever is set on top.
    fn identity(&self) -> (&str, &[u8]) {
        let mac = match self.permanent_mac.0.as_slice() {
            [] => &self.mac.0,
            permanent => permanent,
        };
        (&self.kind, mac)
    }

    fn has_identity(&self) -> bool {
        self.identity().1.iter().any(|byte| *byte != 0)
    }
}

/// What `before` is now. A MAC and a kind say more than a name; a name says which where several share a MAC, as VLANs and
/// the ports of a bond do.
pub(super) fn counterpart<'a>(before: &Link, all: &[Link], now: &'a [Link]) -> Option<&'a Link> {
    let same_name = || {
        now.iter()
            .find(|link| link.name == before.name && link.kind == before.kind)
    };
    if !before.has_identity() {
        return same_name();
    }
    let alike: Vec<&Link> = now
        .iter()
        .filter(|link| link.identity() == before.identity())
        .collect();
    let named = alike.iter().find(|link| link.name == before.name);
    if let Some(found) = named {
        return Some(found);
    }
    // Those that carry another's name from before are that one.
    let free = alike.iter().filter(|link| {
        let owner = all.iter().find(|other| other.name == link.name);
        owner.is_none_or(|owner| owner.identity() != link.identity())
    });
    let free: Vec<&&Link> = free.collect();
    match free.as_slice() {
        [one] => return Some(one),
        [] => {}
        several => {
            let same = several.iter().find(|link| link.index == before.index);
            if let Some(found) = same {
                return Some(found);
            }
        }
    }
    // Its MAC was changed, or it was made anew: another card behind the same name has another index or is no virtual link.
    same_name().filter(|link| {
        let is_anothers = all.iter().any(|other| {
            other.name != before.name && other.has_identity() && other.identity() == link.identity()
        });
        !is_anothers && (!link.kind.is_empty() || link.index == before.index)
    })
}

/// A message to the kernel about one link.
fn request(index: u32) -> RawMessage {
    let mut message = RawMessage::new(&[0; 16]);
    message.set_header_u32(4, index);
    message
}
