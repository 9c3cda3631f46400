//! What a virtual interface is made of (`IFLA_LINKINFO`), as far as it bears on a fabric.

use super::{json_object::JsonObject, link::LinkTable, message::NetlinkAttributes, names};

const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;

/// `BOND_MODE_*`
const BOND_MODES: [&str; 7] = [
    "balance-rr",
    "active-backup",
    "balance-xor",
    "broadcast",
    "802.3ad",
    "balance-tlb",
    "balance-alb",
];

pub(super) fn describe(information: NetlinkAttributes<'_>, links: &LinkTable) -> JsonObject {
    let mut object = JsonObject::default();
    if let Some(kind) = information.text(IFLA_INFO_KIND) {
        let data = information.nested(IFLA_INFO_DATA);
        let data = data.and_then(|data| data_of(&kind, data, links));
        object.put_some("info_data", data);
        object.put("info_kind", kind);
    }
    object.put_some("info_slave_kind", information.text(IFLA_INFO_SLAVE_KIND));
    object
}

/// The attribute numbers are those of `IFLA_VLAN_*`, `IFLA_BOND_*` and so on in `linux/if_link.h`.
fn data_of(kind: &str, data: NetlinkAttributes<'_>, links: &LinkTable) -> Option<JsonObject> {
    let mut object = JsonObject::default();
    match kind {
        "vlan" => {
            object.put_some("protocol", data.get(5).map(vlan_protocol));
            object.put_some("id", data.u16(1));
        }
        "bond" => {
            let mode = data.u8(1).map(|mode| named(mode.into(), &BOND_MODES));
            object.put_some("mode", mode);
            let active = data.u32(2).filter(|index| *index != 0);
            object.put_some("active_slave", active.map(|index| links.name(index)));
            object.put_some("miimon", data.u32(3));
        }
        "vrf" => object.put_some("table", data.u32(1)),
        "vxlan" => object.put_some("id", data.u32(1)),
        "ipoib" => {
            let key = data.u16(1).map(|key| format!("{key:#06x}"));
            object.put_some("pkey", key);
            let mode = data.u16(2);
            let mode = mode.map(|mode| named(mode, &["datagram", "connected"]));
            object.put_some("mode", mode);
        }
        _ => return None,
    }
    Some(object)
}

fn named(number: u16, words: &[&str]) -> String {
    words
        .get(usize::from(number))
        .map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

/// The `EtherType` of the tag, in network byte order.
fn vlan_protocol(bytes: &[u8]) -> String {
    match bytes {
        [0x81, 0x00] => "802.1Q".to_owned(),
        [0x88, 0xa8] => "802.1ad".to_owned(),
        other => format!("[{}]", names::hexadecimal(other)),
    }
}
