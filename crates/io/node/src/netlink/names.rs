//! Words for the kernel's numbers, as `ip` prints them.

use serde_json::Value;

/// `linux/if_arp.h`; the kinds that a GPU node can have.
pub(super) fn link_type(kind: u16) -> String {
    let name = match kind {
        1 => "ether",
        32 => "infiniband",
        280 => "can",
        512 => "ppp",
        768 => "ipip",
        769 => "tunnel6",
        772 => "loopback",
        776 => "sit",
        778 => "gre",
        801 => "ieee802.11",
        823 => "gre6",
        824 => "netlink",
        0xfffe => "none",
        0xffff => "void",
        other => return format!("[{other}]"),
    };
    name.to_owned()
}

/// `RT_SCOPE_*`
pub(super) fn scope(number: u8) -> String {
    match number {
        0 => "global".to_owned(),
        200 => "site".to_owned(),
        253 => "link".to_owned(),
        254 => "host".to_owned(),
        255 => "nowhere".to_owned(),
        other => other.to_string(),
    }
}

/// `RT_TABLE_*`. Names that an administrator gives tables are left out: the number is what the kernel knows.
pub(super) fn table(number: u32) -> String {
    match number {
        253 => "default".to_owned(),
        254 => "main".to_owned(),
        255 => "local".to_owned(),
        other => other.to_string(),
    }
}

/// `RTPROT_*` and the routing daemons' numbers in iproute2's `rt_protos`.
pub(super) fn protocol(number: u8) -> String {
    let name = match number {
        0 => "unspec",
        1 => "redirect",
        2 => "kernel",
        3 => "boot",
        4 => "static",
        8 => "gated",
        9 => "ra",
        10 => "mrt",
        11 => "zebra",
        12 => "bird",
        13 => "dnrouted",
        14 => "xorp",
        15 => "ntk",
        16 => "dhcp",
        18 => "keepalived",
        42 => "babel",
        99 => "openr",
        186 => "bgp",
        187 => "isis",
        188 => "ospf",
        189 => "rip",
        192 => "eigrp",
        other => return other.to_string(),
    };
    name.to_owned()
}

/// `RTN_*`
pub(super) fn route_type(number: u8) -> String {
    let names = [
        "none",
        "unicast",
        "local",
        "broadcast",
        "anycast",
        "multicast",
        "blackhole",
        "unreachable",
        "prohibit",
        "throw",
        "nat",
        "xresolve",
    ];
    names
        .get(usize::from(number))
        .map_or_else(|| number.to_string(), |name| (*name).to_owned())
}

/// `NUD_*`
pub(super) const NEIGHBOUR_STATES: [(u32, &str); 8] = [
    (0x01, "INCOMPLETE"),
    (0x02, "REACHABLE"),
    (0x04, "STALE"),
    (0x08, "DELAY"),
    (0x10, "PROBE"),
    (0x20, "FAILED"),
    (0x40, "NOARP"),
    (0x80, "PERMANENT"),
];

/// `RTNH_F_*` and `RTM_F_*`
pub(super) const ROUTE_FLAGS: [(u32, &str); 11] = [
    (1, "dead"),
    (4, "onlink"),
    (2, "pervasive"),
    (8, "offload"),
    (64, "trap"),
    (0x100, "notify"),
    (16, "linkdown"),
    (32, "unresolved"),
    (0x4000, "rt_offload"),
    (0x8000, "rt_trap"),
    (0x2000_0000, "rt_offload_failed"),
];

/// The words for the bits that are set, as a JSON array.
pub(super) fn set_bits(bits: u32, words: &[(u32, &str)]) -> Value {
    words
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, word)| *word)
        .collect()
}

/// A link-layer address, in hexadecimal with colons.
pub(super) fn hardware_address(bytes: &[u8]) -> String {
    let parts: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    parts.join(":")
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    hardware_address(bytes).replace(':', "")
}
