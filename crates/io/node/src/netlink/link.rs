//! Network interfaces (`RTM_GETLINK`), in the shape of `ip -j -d addr show`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    json_object::JsonObject,
    link_kind,
    message::{NetlinkAttributes, NetlinkRequest, text, u16_at, u32_at, u64_at},
    names,
    socket::{NetlinkError, NetlinkSocket},
};

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
/// `ifinfomsg`: family u8, pad u8, type u16, index i32, flags u32, change u32.
const FIXED: usize = 16;

const IFLA_ADDRESS: u16 = 1;
const IFLA_BROADCAST: u16 = 2;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_TXQLEN: u16 = 13;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_GROUP: u16 = 27;
const IFLA_PHYS_PORT_ID: u16 = 34;
const IFLA_PHYS_SWITCH_ID: u16 = 36;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_PROP_LIST: u16 = 52;
const IFLA_ALT_IFNAME: u16 = 53;
const IFLA_PERM_ADDRESS: u16 = 54;

/// `rtnl_link_stats64`: these, then more, each a u64.
const IFLA_STATS64: u16 = 23;
const STATISTICS: [(&str, &str); 8] = [
    ("rx", "packets"),
    ("tx", "packets"),
    ("rx", "bytes"),
    ("tx", "bytes"),
    ("rx", "errors"),
    ("tx", "errors"),
    ("rx", "dropped"),
    ("tx", "dropped"),
];

const IFF_UP: u32 = 1;
const IFF_RUNNING: u32 = 0x40;
const IFF_POINTOPOINT: u32 = 0x10;

/// `linux/if.h`, in the order in which `ip` names them.
const FLAGS: [(u32, &str); 18] = [
    (0x8, "LOOPBACK"),
    (0x2, "BROADCAST"),
    (IFF_POINTOPOINT, "POINTOPOINT"),
    (0x1000, "MULTICAST"),
    (0x80, "NOARP"),
    (0x200, "ALLMULTI"),
    (0x100, "PROMISC"),
    (0x400, "MASTER"),
    (0x800, "SLAVE"),
    (0x4, "DEBUG"),
    (0x8000, "DYNAMIC"),
    (0x4000, "AUTOMEDIA"),
    (0x2000, "PORTSEL"),
    (0x20, "NOTRAILERS"),
    (IFF_UP, "UP"),
    (0x1_0000, "LOWER_UP"),
    (0x2_0000, "DORMANT"),
    (0x4_0000, "ECHO"),
];

const NUMBERS: [(u16, &str); 12] = [
    (IFLA_MTU, "mtu"),
    (30, "promiscuity"),
    (61, "allmulti"),
    (50, "min_mtu"),
    (51, "max_mtu"),
    (31, "num_tx_queues"),
    (32, "num_rx_queues"),
    (41, "gso_max_size"),
    (40, "gso_max_segs"),
    (59, "tso_max_size"),
    (60, "tso_max_segs"),
    (58, "gro_max_size"),
];

/// The alias is left out: people write what they like there.
const TEXT_ATTRIBUTES: [(u16, &str); 4] = [
    (6, "qdisc"),
    (38, "phys_port_name"),
    (56, "parentdev"),
    (57, "parentbus"),
];

/// `IF_OPER_*`
const OPERSTATES: [&str; 7] = [
    "UNKNOWN",
    "NOTPRESENT",
    "DOWN",
    "LOWERLAYERDOWN",
    "TESTING",
    "DORMANT",
    "UP",
];

fn statistics(counters: &[u8]) -> Value {
    let mut sides = json!({ "rx": {}, "tx": {} });
    for (index, (side, name)) in STATISTICS.iter().enumerate() {
        if let Some(count) = u64_at(counters, 8 * index) {
            sides[side][name] = count.into();
        }
    }
    sides
}

/// The interfaces of this network namespace, by index.
#[derive(Debug, Default)]
pub(super) struct LinkTable {
    links: BTreeMap<u32, Link>,
    order: Vec<u32>,
}

#[derive(Debug)]
struct Link {
    name: String,
    flags: u32,
    body: Vec<u8>,
}

impl LinkTable {
    pub(super) fn read(socket: &mut NetlinkSocket) -> Result<Self, NetlinkError> {
        // No extensions are asked for: virtual functions would be asked of the firmware one by one.
        let answer = socket.dump(&NetlinkRequest::new(RTM_GETLINK, &[0; FIXED]))?;
        let mut links = Self::default();
        for (_, body) in answer.iter().filter(|(kind, _)| *kind == RTM_NEWLINK) {
            links.insert(body);
        }
        Ok(links)
    }

    pub(super) fn insert(&mut self, body: &[u8]) {
        let (Some(index), Some(flags)) = (u32_at(body, 4), u32_at(body, 8)) else {
            return;
        };
        let Some(name) = NetlinkAttributes::behind(body, FIXED).text(IFLA_IFNAME) else {
            return;
        };
        let body = body.to_vec();
        self.order.push(index);
        self.links.insert(index, Link { name, flags, body });
    }

    /// The interface's name; `if7` for one that has gone, as `ip` says.
    pub(super) fn name(&self, index: u32) -> String {
        self.links
            .get(&index)
            .map_or_else(|| format!("if{index}"), |link| link.name.clone())
    }

    pub(super) fn mtu(&self, name: &str) -> Option<u32> {
        let link = self.links.values().find(|link| link.name == name)?;
        NetlinkAttributes::behind(&link.body, FIXED).u32(IFLA_MTU)
    }

    /// One object an interface, with the addresses that `addresses` holds for its index.
    pub(super) fn to_json(&self, mut addresses: BTreeMap<u32, Vec<Value>>) -> Value {
        let object = |index: &u32| {
            let mut object = self.describe(*index, self.links.get(index)?);
            object.put("addr_info", addresses.remove(index).unwrap_or_default());
            Some(Value::from(object))
        };
        self.order.iter().filter_map(object).collect()
    }

    fn describe(&self, index: u32, link: &Link) -> JsonObject {
        let attributes = NetlinkAttributes::behind(&link.body, FIXED);
        let mut object = JsonObject::default();
        object.put("ifindex", index);
        object.put("ifname", link.name.clone());
        let lower_down = self.put_lower(attributes, &mut object);
        object.put("flags", flags(link.flags, lower_down));
        let namespace = attributes.u32(IFLA_LINK_NETNSID);
        object.put_some("link_netnsid", namespace.map(u32::cast_signed));
        let master = attributes.u32(IFLA_MASTER);
        object.put_some("master", master.map(|index| self.name(index)));
        if let Some(counters) = attributes.get(IFLA_STATS64) {
            object.put("stats64", statistics(counters));
        }
        if let Some(state) = attributes.u8(IFLA_OPERSTATE) {
            match OPERSTATES.get(usize::from(state)) {
                Some(name) => object.put("operstate", *name),
                None => object.put("operstate_index", state),
            }
        }
        if let Some(group) = attributes.u32(IFLA_GROUP) {
            let name = match group {
                0 => "default".to_owned(),
                other => other.to_string(),
            };
            object.put("group", name);
        }
        let queue_length = attributes.u32(IFLA_TXQLEN).filter(|length| *length != 0);
        object.put_some("txqlen", queue_length);
        for (kind, key) in NUMBERS {
            object.put_some(key, attributes.u32(kind));
        }
        for (kind, key) in TEXT_ATTRIBUTES {
            object.put_some(key, attributes.text(kind));
        }
        put_hardware(attributes, link, &mut object);
        if let Some(information) = attributes.nested(IFLA_LINKINFO) {
            object.put("linkinfo", link_kind::describe(information, self));
        }
        if let Some(list) = attributes.nested(IFLA_PROP_LIST) {
            let others = list.iter().filter(|(kind, _)| *kind == IFLA_ALT_IFNAME);
            let others: Vec<String> = others.map(|(_, name)| text(name)).collect();
            object.put("altnames", others);
        }
        object
    }

    /// The interface below, and whether it is administratively down.
    fn put_lower(&self, attributes: NetlinkAttributes<'_>, object: &mut JsonObject) -> bool {
        match (attributes.u32(IFLA_LINK), attributes.u32(IFLA_LINK_NETNSID)) {
            (None, _) => {}
            (Some(0), _) => object.put("link", Value::Null),
            (Some(lower), Some(_)) => object.put("link_index", lower),
            (Some(lower), None) => {
                object.put("link", self.name(lower));
                let link = self.links.get(&lower);
                return link.is_some_and(|link| link.flags & IFF_UP == 0);
            }
        }
        false
    }
}

fn put_hardware(attributes: NetlinkAttributes<'_>, link: &Link, object: &mut JsonObject) {
    let kind = u16_at(&link.body, 2).unwrap_or_default();
    object.put("link_type", names::link_type(kind));
    let address = attributes.get(IFLA_ADDRESS);
    object.put_some("address", address.map(names::hardware_address));
    let broadcast = attributes.get(IFLA_BROADCAST);
    object.put_some("broadcast", broadcast.map(names::hardware_address));
    if broadcast.is_some() && link.flags & IFF_POINTOPOINT != 0 {
        object.put("link_pointtopoint", true);
    }
    let permanent = attributes.get(IFLA_PERM_ADDRESS);
    let differs = permanent.filter(|_| permanent != address);
    object.put_some("permaddr", differs.map(names::hardware_address));
    let port = attributes.get(IFLA_PHYS_PORT_ID);
    object.put_some("phys_port_id", port.map(names::hexadecimal));
    let switch = attributes.get(IFLA_PHYS_SWITCH_ID);
    object.put_some("phys_switch_id", switch.map(names::hexadecimal));
}

fn flags(bits: u32, lower_down: bool) -> Value {
    let mut words: Vec<Value> = Vec::new();
    if bits & IFF_UP != 0 && bits & IFF_RUNNING == 0 {
        words.push("NO-CARRIER".into());
    }
    let mut unnamed = bits & !IFF_RUNNING;
    for (bit, word) in FLAGS {
        if unnamed & bit != 0 {
            words.push(word.into());
            unnamed &= !bit;
        }
    }
    if unnamed != 0 {
        words.push(format!("{unnamed:x}").into());
    }
    if lower_down {
        words.push("M-DOWN".into());
    }
    words.into()
}
