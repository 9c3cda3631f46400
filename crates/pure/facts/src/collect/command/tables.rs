//! The kernel's tables, as `ip -j`, `rdma -j` and `dcb -j` print them: the fields that facts are read from. Names that people
//! give (`ifalias`, `altnames`) are not among them.

use serde_json::Value;

use super::{refused, shape::ValueShape};
use crate::raw::ReadGap;

use ValueShape::{Either, Flag, List, Named, Number, Object, Plain, Switch};

const LINK: ValueShape = Object(&[
    ("ifindex", Number),
    ("ifname", Plain),
    ("link", Plain),
    ("flags", List(&Flag)),
    ("mtu", Number),
    ("min_mtu", Number),
    ("max_mtu", Number),
    ("operstate", Plain),
    ("link_type", Plain),
    ("address", Plain),
    ("permaddr", Plain),
    ("master", Plain),
    ("phys_switch_id", Plain),
    ("phys_port_name", Plain),
    (
        "linkinfo",
        Object(&[
            ("info_kind", Plain),
            ("info_data", Object(&[("id", Number)])),
        ]),
    ),
    (
        "addr_info",
        List(&Object(&[
            ("family", Plain),
            ("local", Plain),
            ("prefixlen", Number),
            ("scope", Plain),
            ("dynamic", Plain),
        ])),
    ),
    (
        "stats64",
        Object(&[("rx", Named(&Number)), ("tx", Named(&Number))]),
    ),
]);

const VIA: ValueShape = Object(&[("family", Plain), ("host", Plain)]);

const ROUTE: ValueShape = Object(&[
    ("type", Plain),
    ("dst", Plain),
    ("gateway", Plain),
    ("via", VIA),
    ("dev", Plain),
    ("prefsrc", Plain),
    ("metric", Number),
    ("table", Plain),
    ("protocol", Plain),
    ("scope", Plain),
    (
        "nexthops",
        List(&Object(&[
            ("gateway", Plain),
            ("via", VIA),
            ("dev", Plain),
            ("weight", Number),
        ])),
    ),
]);

const RULE: ValueShape = Object(&[
    ("priority", Number),
    ("src", Plain),
    ("srclen", Number),
    ("dst", Plain),
    ("dstlen", Number),
    ("iif", Plain),
    ("oif", Plain),
    ("table", Plain),
]);

const NEIGHBOUR: ValueShape = Object(&[
    ("dst", Plain),
    ("dev", Plain),
    ("lladdr", Plain),
    ("state", List(&Flag)),
]);

const QUEUE_PAIR: ValueShape = Object(&[
    ("ifname", Plain),
    ("port", Number),
    ("lqpn", Number),
    ("type", Plain),
    ("state", Plain),
    ("pid", Number),
    ("comm", Plain),
]);

/// One for each priority, or by its number.
const SWITCHES: ValueShape = Either(&[List(&Switch), Named(&Switch)]);
const PAIRS: ValueShape = List(&List(&Number));

const PRIORITIES: ValueShape = Object(&[
    (
        "pfc",
        Object(&[("prio_pfc", SWITCHES), ("prio-pfc", SWITCHES)]),
    ),
    ("app", Object(&[("dscp_prio", PAIRS), ("dscp-prio", PAIRS)])),
]);

pub(super) fn addresses(text: &str) -> Result<String, ReadGap> {
    cut(text, "ip address", &List(&LINK))
}

pub(super) fn routes(text: &str) -> Result<String, ReadGap> {
    cut(text, "ip route", &List(&ROUTE))
}

pub(super) fn rules(text: &str) -> Result<String, ReadGap> {
    cut(text, "ip rule", &List(&RULE))
}

pub(super) fn neighbours(text: &str) -> Result<String, ReadGap> {
    cut(text, "ip neighbour", &List(&NEIGHBOUR))
}

pub(super) fn queue_pairs(text: &str) -> Result<String, ReadGap> {
    cut(text, "rdma resource", &List(&QUEUE_PAIR))
}

pub(super) fn priorities(text: &str) -> Result<String, ReadGap> {
    cut(text, "dcb", &PRIORITIES)
}

fn cut(text: &str, program: &str, shape: &ValueShape) -> Result<String, ReadGap> {
    let document: Option<Value> = serde_json::from_str(text).ok();
    let kept = document.and_then(|document| shape.cut(&document));
    let kept = kept.ok_or_else(|| refused(program))?;
    Ok(kept.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_people_give_stay_on_the_node() {
        let shown = r#"[{"ifname":"eth0","ifalias":"to Bob","altnames":["x"],"flags":["UP","x"],"mtu":9000,
            "linkinfo":{"info_kind":"vlan","info_data":{"id":7,"x":"y"}},"stats64":{"rx":{"bytes":1,"x":"y"}},
            "address":"hf_0123456789","addr_info":[{"local":"10.0.0.1","prefixlen":24,"label":"x"}, 7]}]"#;
        let kept = addresses(shown).unwrap();
        let expected = r#"[{"ifname":"eth0","flags":["UP"],"mtu":9000,"linkinfo":{"info_kind":"vlan",
            "info_data":{"id":7}},"addr_info":[{"local":"10.0.0.1","prefixlen":24}],"stats64":{"rx":{"bytes":1}}}]"#;
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&kept), value(expected));
        assert_eq!(addresses(&kept).unwrap(), kept);
        assert!(matches!(addresses("{}"), Err(ReadGap::Failed(_))));
        assert!(matches!(routes("Error: x"), Err(ReadGap::Failed(_))));
    }
}
