//! The runtime network state comes back as it was, whatever was done to it, in a network namespace made for the test.
//!
//! Needs root, and Debian's `iproute2` and `nftables`.

use crate::namespace::Namespace;
use crosstie_node::network_state::{
    NetworkRestoreObstacle, NetworkRestoreResult, NetworkState, SnapshotScope, restore_and_count,
    snapshot,
};
use crosstie_node::with_causes;
use serde_json::Value;

const RULESET: &str = "add table inet crosstie
add set inet crosstie managers { type ipv4_addr; elements = { 10.20.0.9, 10.20.0.10 }; }
add chain inet crosstie input { type filter hook input priority 0; policy accept; }
add rule inet crosstie input iifname \"v0\" ip saddr @managers tcp dport 22 counter accept
add table ip crosstie-nat
add chain ip crosstie-nat out { type nat hook postrouting priority 100; }
add rule ip crosstie-nat out masquerade";

fn node(purpose: &str) -> Namespace {
    let namespace = Namespace::new(purpose);
    for arguments in [
        "link set lo up",
        "link add v0 mtu 9000 type veth peer name v1 mtu 9000",
        "link add w0 type veth peer name w1",
        "link add idle type veth peer name idle-peer",
        "link add br0 type bridge ageing_time 1200 stp_state 1",
        "link set idle master br0",
        "link set idle type bridge_slave isolated on learning off priority 7",
        "link add link w0 name mv0 type macvlan mode bridge",
        "link add vx0 type vxlan id 42 dstport 4789 dev v0",
        "link set v0 up",
        "link set v1 up",
        "link set w0 up",
        "link set w1 up",
        "link set br0 up",
        "addr add 10.20.0.1/24 brd + dev v0",
        "addr add 10.20.0.2/24 dev v0 label v0:1",
        "addr add 10.20.0.3/24 dev v0 valid_lft 3600 preferred_lft 1800",
        "addr add 10.20.9.1 peer 10.20.9.2/32 dev v1 metric 77",
        "addr add fd00:20::1/64 dev v0 nodad",
        "addr add fd00:20::2/64 dev v0 noprefixroute nodad",
        "addr add 10.21.0.1/24 dev w0",
        "addr add fd00:21::1/64 dev w0 nodad",
        "addr add 192.168.1.1/24 dev br0",
        "nexthop add id 1 via 10.20.0.11 dev v0",
        "nexthop add id 2 via 10.21.0.12 dev w0",
        "nexthop add id 3 via fd00:20::13 dev v0",
        "nexthop add id 10 group 1/2,3",
        "nexthop add id 11 blackhole",
        "route add default via 10.20.0.254 metric 100 proto dhcp src 10.20.0.1",
        "route add 10.30.0.0/16 via 10.20.0.9 dev v0 onlink table 100 mtu 8900 proto static",
        "route add 10.31.0.0/16 nexthop via 10.20.0.10 weight 3 nexthop via 10.21.0.10 weight 2",
        "route add 10.33.0.0/16 via inet6 fd00:20::9 dev v0",
        "route add blackhole 10.32.0.0/16 proto bgp",
        "route add 10.34.0.0/16 nhid 10",
        "route add 10.35.0.0/16 nhid 1 table 4000",
        "route add 10.36.0.0/16 dev w0 scope link",
        "route add 10.37.0.0/16 via 10.36.0.1",
        "route add default via fd00:20::fe dev v0 pref high",
        "route add unreachable fd00:99::/48",
        "-6 route add fd00:31::/32 nexthop via fd00:20::10 dev v0 nexthop via fd00:21::11 dev w0 weight 4",
        "-6 route add fd00:34::/32 nhid 3",
        "-6 route add fd00:35::/32 via fd00:20::9 dev v0 expires 3600",
        "rule add from 10.20.0.0/24 to 10.9.0.0/16 table 100 priority 1000 proto static",
        "rule add from 10.20.0.1 iif v0 oif v1 fwmark 0x7/0xff table 4000 priority 1001",
        "rule add not ipproto tcp dport 1000-2000 sport 5 uidrange 1-9 blackhole priority 40000",
        "rule add to 10.0.0.0/8 goto 32766 priority 1003",
        "rule add table main suppress_prefixlength 0 priority 1004",
        "-6 rule add from fd00:20::/64 table 100 priority 1000",
    ] {
        namespace.ip(arguments);
    }
    namespace.exec(&["nft", RULESET]);
    write(&namespace, "ipv4/conf/v0/arp_ignore", "1");
    write(&namespace, "ipv4/neigh/v0/gc_stale_time", "120");
    write(&namespace, "ipv6/conf/v0/accept_ra", "0");
    for interface in ["v0", "v1", "w0", "w1"] {
        namespace.wait_for_link(interface);
    }
    namespace
}

fn write(namespace: &Namespace, key: &str, value: &str) {
    let path = format!("/proc/sys/net/{key}");
    namespace.enter(|| std::fs::write(&path, value).expect(&path));
}

/// With lifetimes left out: they count down.
fn keep(namespace: &Namespace, scope: &SnapshotScope) -> (NetworkState, Value) {
    let (state, obstacles) = namespace.enter(|| snapshot(scope));
    assert!(obstacles.is_empty(), "{obstacles:#?}");
    let json = serde_json::to_value(&state).unwrap();
    // Through a journal.
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<NetworkState>(&text).unwrap(), state);
    (state, without_lifetimes(json))
}

fn without_lifetimes(mut value: Value) -> Value {
    for list in ["addresses", "routes"] {
        for entry in value[list].as_array_mut().into_iter().flatten() {
            for key in ["valid", "preferred", "expires"] {
                if entry[key].is_u64() {
                    entry[key] = Value::Bool(true);
                }
            }
        }
    }
    value
}

/// `IFA_PROTO` with `IFAPROT_KERNEL_LL`: a bridge that had carrier for a moment has such an address and keeps it.
const LINK_LOCAL: &str = "05000b0003000000";

fn assert_same(before: &Value, after: &Value) {
    let is_own = |address: &&Value| {
        let text = address["message"].as_str().unwrap();
        !text.contains(LINK_LOCAL)
    };
    for (part, value) in before.as_object().unwrap() {
        if part != "addresses" {
            assert_eq!(value, &after[part], "{part}");
            continue;
        }
        let (value, now) = (value.as_array().unwrap(), after[part].as_array().unwrap());
        let own = |list: &[Value]| -> Vec<Value> { list.iter().filter(is_own).cloned().collect() };
        assert_eq!(own(value), own(now));
        let lost: Vec<&Value> = value.iter().filter(|one| !now.contains(one)).collect();
        assert!(lost.is_empty(), "{lost:#?}");
    }
}

fn restored(namespace: &Namespace, state: &NetworkState) -> NetworkRestoreResult {
    namespace.enter(|| restore_and_count(state))
}

fn causes(obstacles: &[NetworkRestoreObstacle]) -> Vec<String> {
    obstacles
        .iter()
        .map(|obstacle| with_causes(obstacle))
        .collect()
}

/// Everything after these commands is as before them, and then there is nothing left to do.
fn undoes(purpose: &str, commands: &[&str]) {
    let namespace = node(purpose);
    undoes_in(&namespace, commands);
}

fn undoes_in(namespace: &Namespace, commands: &[&str]) {
    let (state, before) = keep(namespace, &SnapshotScope::Everything);
    let untouched = restored(namespace, &state);
    assert_eq!(causes(&untouched.obstacles), [""; 0]);
    assert_eq!(untouched.changes, 0);
    for command in commands {
        namespace.exec(&command.split_whitespace().collect::<Vec<_>>());
    }
    let first = restored(namespace, &state);
    assert_eq!(causes(&first.obstacles), [""; 0], "{commands:?}");
    let (_, after) = keep(namespace, &SnapshotScope::Everything);
    assert_same(&before, &after);
    let second = restored(namespace, &state);
    assert_eq!(causes(&second.obstacles), [""; 0]);
    assert_eq!(second.changes, 0, "{commands:?}");
}

#[test]
fn ns_changed_settings_are_restored() {
    undoes(
        "state-changed",
        &[
            "ip link set v0 mtu 1400",
            "ip link set v0 arp off multicast off promisc on allmulticast on txqueuelen 7 alias hello group 5",
            "ip link set w0 down",
            "ip link set idle-peer up",
            "ip link set mv0 address 02:00:00:00:00:77",
            "ip link set br0 type bridge stp_state 0 ageing_time 2000 mcast_snooping 0 no_linklocal_learn 1",
            "ip link set vx0 type vxlan id 42 ageing 77",
            "ip link set mv0 type macvlan mode private",
            "ip link set idle nomaster",
            "ip link set w1 master br0",
            "ip addr del 10.20.0.1/24 dev v0",
            "ip addr add 10.99.0.1/24 dev v0",
            "ip addr change fd00:21::1/64 dev w0 preferred_lft 0",
            "ip addr del 10.20.9.1 peer 10.20.9.2/32 dev v1",
            "ip -6 addr flush dev v0 scope global",
            "ip addr add fd00:98::1/64 dev br0 nodad",
            "ip route replace 10.32.0.0/16 dev br0",
            "ip route add 10.88.0.0/16 dev br0 table 77",
            "sysctl -q -w net.ipv4.conf.v0.arp_ignore=2",
            "sysctl -q -w net.ipv4.conf.all.rp_filter=1",
            "sysctl -q -w net.ipv4.ip_forward=1",
            "sysctl -q -w net.ipv4.neigh.v0.base_reachable_time_ms=12345",
            "sysctl -q -w net.ipv6.conf.w0.disable_ipv6=1",
            "ip rule del priority 1000",
            "ip rule add from 10.77.0.0/16 table 77 priority 500",
            "nft flush ruleset",
            "nft add table ip intruder",
        ],
    );
}

#[test]
fn ns_flushed_routes_rules_and_addresses_are_restored() {
    undoes("state-default", &["ip route del default"]);
    undoes(
        "state-flushed",
        &[
            "ip nexthop flush",
            "ip route flush table main",
            "ip -6 route flush table main",
            "ip route flush table 100",
            "ip rule flush",
            "ip rule add blackhole priority 500",
            "ip addr flush dev w0",
        ],
    );
}

/// A manager that brings a link up again may make the route of an address once more, at a metric of its own.
#[test]
fn ns_a_route_of_an_address_is_not_doubled() {
    undoes(
        "state-doubled",
        &[
            "ip route add 10.21.0.0/24 dev w0 proto kernel scope link src 10.21.0.1 metric 600",
            "ip -6 route add fd00:21::/64 dev w0 proto kernel metric 600",
        ],
    );
}

#[test]
fn ns_paths_and_next_hops_are_restored() {
    undoes(
        "state-hops",
        &[
            "ip route change 10.31.0.0/16 via 10.20.0.10",
            "ip -6 route del fd00:31::/32",
            "ip -6 route append default via fd00:20::fd dev v0 metric 1024 pref high",
            "ip nexthop replace id 1 via 10.20.0.99 dev v0",
            "ip nexthop del id 3",
            "ip nexthop del id 10",
            "ip nexthop add id 10 via 10.20.0.98 dev v0",
            "ip nexthop add id 77 via 10.20.0.97 dev v0",
            "ip route add 10.77.0.0/16 nhid 77",
        ],
    );
}

#[test]
fn ns_links_are_deleted_and_created_again() {
    undoes(
        "state-links",
        &[
            "ip link del mv0",
            "ip link del br0",
            "ip link add br0 type veth peer name br0-peer",
            "ip link del v0",
            "ip link add new0 type veth peer name new1",
            "ip link add br9 type bridge",
            "ip link set new0 master br9",
            "ip link set new0 up",
        ],
    );
}

/// `ip` by name: an index that is taken is no obstacle.
#[test]
fn ns_links_with_another_index_get_their_routes() {
    let namespace = node("state-index");
    let shown = || {
        let lines = |arguments: &str| {
            let text = namespace.ip(arguments);
            let lines = text.lines().filter(|line| !line.contains("fe80::"));
            let mut lines: Vec<String> = lines.map(without_index).collect();
            lines.sort();
            lines
        };
        [
            "-o route show table all",
            "-o -6 route show table all",
            "rule show",
            "nexthop show",
            "-o -d link show type vxlan",
            "-o addr show dev v0",
            "-o addr show dev v1",
        ]
        .map(lines)
    };
    let (state, _) = keep(&namespace, &SnapshotScope::Everything);
    let before = shown();
    let index = |name: &str| {
        let links: Value = serde_json::from_str(&namespace.ip("-j link show")).unwrap();
        let found = links.as_array().unwrap().iter();
        let mut found = found.filter(|link| link["ifname"] == name);
        found.next().unwrap()["ifindex"].as_u64().unwrap()
    };
    let taken = [index("v0"), index("v1")];
    namespace.ip("link del v0");
    for index in taken {
        namespace.ip(&format!("link add taker{index} index {index} type bridge"));
    }
    assert_eq!(causes(&restored(&namespace, &state).obstacles), [""; 0]);
    namespace.wait_for_link("v0");
    assert_eq!(shown(), before);
    assert_ne!(index("v0"), taken[0]);
    assert_eq!(restored(&namespace, &state).changes, 0);
}

/// Nor the seconds that are left.
fn without_index(line: &str) -> String {
    let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
    let words = line.split_whitespace();
    let words = words.filter(|word| !word.ends_with("sec"));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn ns_a_ruleset_is_restored_and_left_alone_otherwise() {
    let namespace = node("state-nft");
    undoes_in(
        &namespace,
        &["nft delete element inet crosstie managers { 10.20.0.9 }"],
    );
    undoes_in(&namespace, &["nft flush ruleset"]);
    // Outside everything, the firewall is none of our business.
    let (state, _) = keep(
        &namespace,
        &SnapshotScope::Interfaces(vec!["v0".to_owned()]),
    );
    namespace.exec(&["nft", "flush", "ruleset"]);
    assert_eq!(restored(&namespace, &state).changes, 0);
    assert_eq!(namespace.exec(&["nft", "list", "ruleset"]), "");
}

#[test]
fn ns_an_interface_that_vanished_is_told_and_the_rest_restored() {
    let namespace = node("state-gone");
    let scope = SnapshotScope::Interfaces(vec!["v0".to_owned(), "w0".to_owned()]);
    let (state, _) = keep(&namespace, &scope);
    let before = namespace.ip("-o addr show dev w0");
    namespace.ip("link del v0");
    namespace.ip("addr flush dev w0"); // the kernel's own link-local one, too
    namespace.ip("addr add 10.99.0.1/24 dev w1");
    namespace.ip("link set w0 mtu 1300");
    let first = restored(&namespace, &state);
    assert!(
        first.obstacles.iter().all(NetworkRestoreObstacle::is_left),
        "{first:#?}"
    );
    let told = causes(&first.obstacles);
    let expected = "all settings of v0: the interface no longer exists";
    assert!(told.iter().any(|told| told == expected), "{told:#?}");
    let lost = "route 10.31.0.0/16 of v0: the interface no longer exists";
    assert!(told.iter().any(|told| told == lost), "{told:#?}");
    namespace.wait_for_link("w0");
    assert_eq!(namespace.ip("-o addr show dev w0"), before);
    assert!(namespace.ip("link show w0").contains("mtu 1500"));
    let routes = namespace.ip("route show");
    assert!(routes.contains("10.37.0.0/16 via 10.36.0.1"), "{routes}");
    // Outside the scope nothing is touched.
    assert!(namespace.ip("addr show w1").contains("10.99.0.1"));
    assert_eq!(restored(&namespace, &state).changes, 0);
}

#[test]
fn ns_a_renamed_interface_is_restored_under_its_new_name() {
    let namespace = node("state-name");
    let scope = SnapshotScope::Interfaces(vec!["v0".to_owned()]);
    let (state, before) = keep(&namespace, &scope);
    for arguments in [
        "link set v0 down",
        "link set v0 name other",
        "link set other mtu 1400",
        "addr flush dev other",
        "addr add 10.98.0.1/24 dev other",
    ] {
        namespace.ip(arguments);
    }
    write(&namespace, "ipv4/conf/other/arp_ignore", "0");
    let first = restored(&namespace, &state);
    let told = causes(&first.obstacles);
    let expected = "v0 is called other now: its settings were restored there, its name was left";
    assert_eq!(told, [expected]);
    let (_, after) = keep(
        &namespace,
        &SnapshotScope::Interfaces(vec!["other".to_owned()]),
    );
    for part in ["routes", "next_hops"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    assert_eq!(before["sysctls"]["v0"], after["sysctls"]["other"]);
    let shown = namespace.ip("-o -4 addr show dev other");
    assert!(
        shown.contains("other:1") && !shown.contains("10.98"),
        "{shown}"
    );
    assert!(namespace.ip("link show other").contains("mtu 9000"));
    let second = restored(&namespace, &state);
    assert_eq!((second.changes, causes(&second.obstacles)), (0, told));
}

#[test]
fn ns_what_cannot_be_created_again_is_told() {
    let namespace = node("state-lost");
    let other = Namespace::new("state-peer");
    namespace.ip(&format!("link set w1 netns {}", other.0));
    let (state, before) = keep(&namespace, &SnapshotScope::Everything);
    namespace.ip("link del w0");
    namespace.ip("route del default");
    let first = restored(&namespace, &state);
    let told = causes(&first.obstacles);
    let expected = "w0 was deleted, and a link of the kind 'veth' cannot be created again";
    assert!(told.iter().any(|told| told == expected), "{told:#?}");
    let (_, after) = keep(&namespace, &SnapshotScope::Everything);
    for part in ["rules", "nftables"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    assert!(namespace.ip("route show default").contains("10.20.0.254"));
}

#[test]
fn journals_of_other_versions_are_read() {
    let empty: NetworkState = serde_json::from_str("{}").unwrap();
    assert_eq!(empty, NetworkState::default());
    let newer =
        r#"{ "scope": "everything", "links": [{ "name": "eth0", "later": 1 }], "later": {} }"#;
    assert!(serde_json::from_str::<NetworkState>(newer).is_ok());
    let namespace = node("state-empty");
    let done = restored(&namespace, &empty);
    assert_eq!((done.changes, done.obstacles.len()), (0, 0));
    let (state, _) = keep(&namespace, &SnapshotScope::Everything);
    let mut older = serde_json::to_value(&state).unwrap();
    older["boot"] = "another".into();
    namespace.ip("addr add 10.99.0.1/24 dev v0");
    let done = restored(&namespace, &serde_json::from_value(older).unwrap());
    assert_eq!(done.changes, 0);
    assert!(matches!(
        done.obstacles.as_slice(),
        [NetworkRestoreObstacle::Restarted]
    ));
}

#[test]
fn ns_after_a_restart_interfaces_are_known_by_their_mac() {
    let namespace = node("state-boot");
    let (state, _) = keep(
        &namespace,
        &SnapshotScope::Interfaces(vec!["v0".to_owned()]),
    );
    let mut older = serde_json::to_value(&state).unwrap();
    older["boot"] = "another".into();
    let older: NetworkState = serde_json::from_value(older).unwrap();
    namespace.ip("link set v0 down");
    namespace.ip("link set v0 name other");
    namespace.ip("link set w0 down");
    namespace.ip("link set w0 name v0");
    let done = restored(&namespace, &older);
    let told = causes(&done.obstacles);
    let renamed = "v0 is called other now: its settings were restored there, its name was left";
    assert!(told.iter().any(|told| told == renamed), "{told:#?}");
    // Paths that also need the other, which is out of scope and down, are told one by one.
    let lost = "route 10.31.0.0/16 over other and v0 cannot be restored (RTM_NEWROUTE): Invalid argument (os error 22)";
    assert!(told.iter().any(|told| told == lost), "{told:#?}");
    assert!(namespace.ip("route show default").contains("dev other"));
    assert!(namespace.ip("addr show other").contains("10.20.0.1/24"));
    assert!(namespace.ip("link show v0").contains("state DOWN"));
}
