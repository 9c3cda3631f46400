//! What we read over netlink is what iproute2 reads, in a network namespace made for the test.
//!
//! Needs root, and Debian's `iproute2`.

use crate::namespace::Namespace;
use serde_json::Value;

fn json(namespace: &Namespace, arguments: &str) -> Vec<Value> {
    let shown = namespace.ip(arguments);
    serde_json::from_str(&shown).unwrap_or_else(|error| panic!("ip {arguments}: {error}: {shown}"))
}

/// Two rails, cabled to each other, with all that the tables can hold.
fn furnished() -> Namespace {
    let namespace = Namespace::new("netlink");
    for arguments in [
        "link set lo up",
        "link add rail0 mtu 9000 type veth peer name rail1 mtu 9000",
        "link set rail0 up",
        "link set rail1 up",
        "link add idle type veth peer name idle-peer",
        "link property add dev idle altname idle-other-name",
        "link add br0 type bridge",
        "link set idle master br0",
        "link set idle-peer up",
        "addr add 10.20.0.1/24 brd + dev rail0",
        "addr add 10.20.0.2/24 dev rail0 label rail0:1 valid_lft 3600 preferred_lft 1800",
        "addr add 10.20.9.1 peer 10.20.9.2/32 dev rail1 metric 77",
        "addr add fd00:20::1/64 dev rail0 nodad",
        "addr add fd00:20::2/64 dev rail0 noprefixroute valid_lft 3600 preferred_lft 1800",
        "addr add 192.168.1.1/24 dev idle",
        "route add default via 10.20.0.254 metric 100 proto dhcp src 10.20.0.1",
        "route add 10.30.0.0/16 via 10.20.0.9 dev rail0 onlink table 100 mtu 8900 proto static",
        "route add 10.31.0.0/16 nexthop via 10.20.0.10 weight 3 nexthop dev rail1 weight 2",
        "route add 10.33.0.0/16 via inet6 fd00:20::9 dev rail0",
        "route add blackhole 10.32.0.0/16 proto bgp",
        "route add default via fd00:20::fe dev rail0 pref high",
        "route add unreachable fd00:99::/48",
        "-6 route add fd00:31::/32 nexthop via fd00:20::10 dev rail0 nexthop via fd00:20::11 dev rail0",
        "rule add from 10.20.0.0/24 to 10.9.0.0/16 table 100 priority 1000 proto static",
        "rule add from 10.20.0.1 iif rail0 oif rail1 fwmark 0x7/0xff table 4000 priority 1001",
        "rule add not ipproto tcp dport 1000-2000 sport 5 uidrange 1-9 blackhole priority 1002",
        "rule add to 10.0.0.0/8 goto 32766 priority 1003",
        "rule add table main suppress_prefixlength 0 priority 1004",
        "-6 rule add from fd00:20::/64 table 100 priority 1000",
        "neigh add 10.20.0.9 lladdr 02:00:00:00:00:09 nud permanent dev rail0",
        "neigh add fd00:20::9 lladdr 02:00:00:00:00:09 nud stale router dev rail0",
        "neigh add 10.20.0.10 nud failed dev rail0 lladdr 02:00:00:00:00:10",
    ] {
        namespace.ip(arguments);
    }
    namespace
}

/// Keys that count up or down, or that only one of the two gives.
const LOOSE: [&str; 4] = [
    "stats64",
    "valid_life_time",
    "preferred_life_time",
    "inet6_addr_gen_mode",
];

/// Everything that `theirs` says, `ours` says alike.
fn agree(theirs: &Value, ours: &Value, place: &str) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (key, value) in theirs {
                let place = format!("{place}.{key}");
                let Some(own) = ours.get(key) else {
                    // Settings of bridges and their ports: nothing here reads them.
                    assert!(
                        key == "info_data" || key == "info_slave_data",
                        "no {place}: {value}"
                    );
                    continue;
                };
                if !LOOSE.contains(&key.as_str()) {
                    agree(value, own, &place);
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            assert_eq!(theirs.len(), ours.len(), "{place}: {theirs:#?} {ours:#?}");
            for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                agree(theirs, ours, &format!("{place}[{index}]"));
            }
        }
        _ => assert_eq!(theirs, ours, "{place}"),
    }
}

fn keys(values: &[Value]) -> std::collections::BTreeSet<&String> {
    values
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|object| object.keys())
        .collect()
}

#[test]
fn ns_tables_are_what_iproute2_shows() {
    let namespace = furnished();
    let tables = namespace.enter(crosstie_node::netlink::tables);

    let addresses = tables.addresses.expect("addresses");
    let theirs = json(&namespace, "-j -d -s addr show");
    agree(&theirs.clone().into(), &addresses, "addr");
    let ours: Vec<Value> = addresses.as_array().unwrap().clone();
    assert_eq!(keys(&ours), keys(&theirs));
    let rail0 = ours.iter().find(|link| link["ifname"] == "rail0");
    let rail0 = rail0.expect("rail0");
    assert!(rail0["stats64"]["tx"]["bytes"].is_u64(), "{rail0}");
    let lifetime = |index: usize| rail0["addr_info"][index]["valid_life_time"].as_u64();
    assert_eq!(lifetime(0), Some(u64::from(u32::MAX)));
    assert!((3590..=3600).contains(&lifetime(1).unwrap()));

    let mut theirs = json(&namespace, "-j -4 route show table all");
    theirs.extend(json(&namespace, "-j -6 route show table all"));
    let routes = tables.routes.expect("routes");
    agree(&theirs.clone().into(), &routes, "route");
    assert_eq!(keys(routes.as_array().unwrap()), keys(&theirs));

    let mut theirs = json(&namespace, "-j -4 rule show");
    theirs.extend(json(&namespace, "-j -6 rule show"));
    agree(&theirs.into(), &tables.rules.expect("rules"), "rule");

    let theirs = json(&namespace, "-j neigh show");
    assert_eq!(theirs.len(), 3, "{theirs:#?}");
    agree(
        &theirs.into(),
        &tables.neighbours.expect("neighbours"),
        "neigh",
    );
}

/// Runs a program inside the namespace and gives its standard output.
fn inside(namespace: &Namespace, command: &str) -> String {
    namespace.exec(&command.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn ns_link_settings_are_what_ethtool_prints() {
    let namespace = Namespace::new("ethtool");
    namespace.ip("link add rail0 type veth peer name rail1");
    namespace.ip("link set rail0 up");
    let theirs = inside(&namespace, "ethtool rail0");
    assert!(
        theirs.contains("Settings for rail0"),
        "no answer from ethtool (Debian package ethtool): {theirs}"
    );
    let (settings, correction, qos) = namespace.enter(|| {
        let mut ethtool =
            crosstie_node::netlink::EthtoolSocket::open().expect("the ethtool family");
        (
            ethtool.settings("rail0"),
            ethtool.error_correction("rail0"),
            crosstie_node::netlink::qos("rail0"),
        )
    });
    let settings = settings.expect("settings");
    let ours: Vec<&str> = settings.lines().collect();
    // Crossed pairs are a matter of twisted copper.
    let theirs: Vec<&str> = theirs
        .lines()
        .filter(|line| !line.contains("MDI-X"))
        .collect();
    assert!(ours.len() > 10, "{settings}");
    assert_eq!(ours, theirs);
    // A veth has neither error correction nor data centre bridging.
    assert_eq!(correction, Err(crosstie_facts::ReadGap::Absent));
    assert_eq!(qos, Err(crosstie_facts::ReadGap::Absent));
}

#[test]
fn ns_packet_filter_is_seen() {
    let namespace = Namespace::new("filter");
    let has = || namespace.enter(crosstie_node::netlink::has_packet_filter);
    assert_eq!(has(), Ok(false));
    inside(&namespace, "nft add table inet crosstie");
    let shown = inside(&namespace, "nft list tables");
    assert!(
        shown.contains("crosstie"),
        "no answer from nft (Debian package nftables): {shown}"
    );
    assert_eq!(has(), Ok(true));
}
