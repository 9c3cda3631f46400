//! Probes between network namespaces joined by a cable, as `apply` and `up` send them.
//!
//! Needs root, and Debian's `iproute2` and `procps`.

use std::{
    io::Write,
    net::{SocketAddr, TcpListener},
    thread,
    time::{Duration, Instant},
};

use crosstie_model::change::{ProbeResult, ReachabilityProbe};
use crosstie_node::probe::{PROBE_TIMEOUT, run_probes};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::common::namespace::{Namespace, cabled_pair, ip};

/// How late a machine under load may be.
const SLACK_TIMEOUT: Duration = Duration::from_secs(3);

fn sysctl(node: &Namespace, setting: &str) {
    node.exec(&["sysctl", "-qw", setting]);
}

fn mac(node: &Namespace, interface: &str) -> String {
    let shown = node.ip(&format!("-o link show dev {interface}"));
    let mut words = shown.split_whitespace();
    words.find(|word| *word == "link/ether").unwrap();
    words.next().unwrap().to_owned()
}

fn ask(node: &Namespace, probes: &[ReachabilityProbe]) -> Vec<ProbeResult> {
    node.enter(|| run_probes(probes, PROBE_TIMEOUT))
}

/// With IPv6 besides.
fn pair(name: &str) -> [Namespace; 2] {
    let nodes = cabled_pair(name);
    for (node, host) in nodes.iter().zip(1..) {
        node.ip(&format!("addr add fd77::{host}/64 dev rail0 nodad"));
    }
    nodes
}

fn ping(address: &str, interface: &str, bytes: Option<u32>) -> ReachabilityProbe {
    ReachabilityProbe::Ping {
        address: address.parse().unwrap(),
        interface: Some(interface.to_owned()),
        bytes,
    }
}

fn problems(answers: &[ProbeResult]) -> Vec<&str> {
    let texts = answers.iter().map(|answer| answer.problem.as_deref());
    texts.map(Option::unwrap_or_default).collect()
}

#[test]
fn ns_a_cable_is_proven_at_its_mtu() {
    let [a, b] = pair("probe-mtu");
    let probes = [
        ping("10.77.0.2", "rail0", Some(9000)),
        ping("fd77::2", "rail0", Some(9000)),
        ping("10.77.0.2", "rail0", None),
        ping("10.77.0.2", "rail0", Some(9001)),
        ping("fd77::2", "rail0", Some(9001)),
        ping("10.77.0.2", "rail7", Some(9000)),
        ping("10.77.0.2", "lo", Some(9000)),
    ];
    let answers = ask(&a, &probes);
    assert_eq!(
        problems(&answers)[..6],
        [
            "",
            "",
            "",
            "9001 bytes do not fit: the MTU of rail0 is 9000",
            "9001 bytes do not fit: the MTU of rail0 is 9000",
            "there is no interface rail7"
        ]
    );
    // Out of this interface and no other.
    assert!(
        problems(&answers)[6].starts_with("no answer"),
        "{answers:?}"
    );
    let expected = mac(&b, "rail0");
    for answer in &answers[..3] {
        assert_eq!(answer.neighbour.as_ref().unwrap().to_string(), expected);
    }
    a.ip("link set rail0 mtu 1500");
    assert_eq!(
        problems(&ask(&a, &probes[..3])),
        [
            "9000 bytes do not fit: the MTU of rail0 is 1500",
            "9000 bytes do not fit: the MTU of rail0 is 1500",
            ""
        ]
    );
}

#[test]
fn ns_a_small_mtu_at_the_other_end_or_on_the_way_is_seen() {
    let [a, b] = pair("probe-way");
    b.ip("link set rail0 mtu 1500");
    let expected = mac(&b, "rail0");
    let answers = ask(
        &a,
        &[
            ping("10.77.0.2", "rail0", Some(9000)),
            ping("10.77.0.2", "rail0", Some(1500)),
        ],
    );
    let silent = format!("no answer, though {expected} is known to have the address");
    assert_eq!(problems(&answers), [silent.as_str(), ""]);

    b.ip("link set rail0 mtu 9000");
    let c = Namespace::new("probe-way-c");
    ip(&format!(
        "link add rail1 netns {} mtu 1400 type veth peer name rail0 netns {} mtu 1400",
        b.0, c.0
    ));
    b.ip("addr add 10.78.0.1/24 dev rail1");
    b.ip("link set rail1 up");
    sysctl(&b, "net.ipv4.ip_forward=1");
    c.ip("addr add 10.78.0.2/24 dev rail0");
    c.ip("link set rail0 up");
    c.ip("route add default via 10.78.0.1");
    a.ip("route add default via 10.77.0.2");
    let routed = ask(
        &a,
        &[
            ping("10.78.0.2", "rail0", Some(1400)),
            ping("10.78.0.2", "rail0", Some(9000)),
        ],
    );
    assert_eq!(
        problems(&routed),
        ["", "9000 bytes do not fit: the MTU on the way is 1400"]
    );
    assert_eq!(routed[0].neighbour, None);
}

#[test]
fn ns_the_dead_cost_one_deadline_together() {
    let [a, _b] = pair("probe-dead");
    let mut probes: Vec<ReachabilityProbe> = (10..30)
        .map(|host| ping(&format!("10.77.0.{host}"), "rail0", Some(9000)))
        .collect();
    probes.insert(7, ping("10.77.0.2", "rail0", Some(9000)));
    let started = Instant::now();
    let answers = ask(&a, &probes);
    let took = started.elapsed();
    assert!(took < PROBE_TIMEOUT + SLACK_TIMEOUT, "{took:?}");
    for (index, (answer, probe)) in answers.iter().zip(&probes).enumerate() {
        assert_eq!(answer.probe, *probe);
        let expected = match index {
            7 => None,
            _ => Some("no answer: nobody on the link has the address"),
        };
        assert_eq!(answer.problem.as_deref(), expected);
        assert_eq!(answer.neighbour.is_some(), index == 7);
    }
}

#[test]
fn ns_an_answer_by_the_other_twin_shows_its_mac() {
    let switch = Namespace::new("probe-twin-s");
    let nodes = ["a", "b"].map(|end| Namespace::new(&format!("probe-twin-{end}")));
    let [a, b] = &nodes;
    switch.ip("link add plane type bridge");
    switch.ip("link set plane up");
    for (port, node, interface) in [("p0", a, "rail0"), ("p1", b, "rail0"), ("p2", b, "rail1")] {
        ip(&format!(
            "link add {interface} netns {} type veth peer name {port} netns {}",
            node.0, switch.0
        ));
        switch.ip(&format!("link set {port} master plane up"));
    }
    for (node, interface, address) in [
        (a, "rail0", "10.77.0.1/24"),
        (b, "rail0", "10.77.0.2/24"),
        (b, "rail1", "10.77.1.2/24"),
    ] {
        node.ip(&format!("addr add {address} dev {interface}"));
        node.ip(&format!("link set {interface} up"));
    }
    // So that the race between the twins always ends the same way: the right one neither answers nor asks.
    sysctl(b, "net.ipv4.conf.rail0.arp_ignore=8");
    let asker = mac(a, "rail0");
    b.ip(&format!(
        "neigh add 10.77.0.1 lladdr {asker} dev rail0 nud permanent"
    ));
    let probe = [ping("10.77.0.2", "rail0", Some(1500))];
    let answers = ask(a, &probe);
    assert_eq!(problems(&answers), [""]);
    let found = answers[0].neighbour.as_ref().unwrap().to_string();
    assert_eq!(found, mac(b, "rail1"));
    // What a plan sets.
    sysctl(b, "net.ipv4.conf.rail0.arp_ignore=1");
    sysctl(b, "net.ipv4.conf.rail1.arp_ignore=1");
    a.ip("neigh flush dev rail0");
    let answers = ask(a, &probe);
    let found = answers[0].neighbour.as_ref().unwrap().to_string();
    assert_eq!(found, mac(b, "rail0"));
}

#[test]
fn ns_those_who_are_not_root_ask_by_a_ping_socket() {
    let [a, _b] = pair("probe-user");
    let probes = [
        ping("10.77.0.2", "rail0", Some(9000)),
        ping("fd77::2", "rail0", Some(9000)),
        ping("10.77.0.2", "rail0", Some(9001)),
    ];
    let without_capability = || {
        a.enter(|| {
            let mut own = capabilities(None).unwrap();
            own.effective.remove(CapabilitySet::NET_RAW);
            set_capabilities(None, own).unwrap();
            run_probes(&probes, PROBE_TIMEOUT)
        })
    };
    sysctl(&a, "net.ipv4.ping_group_range=1 0");
    let denied = without_capability();
    for problem in problems(&denied) {
        assert!(problem.starts_with("only root may ask"), "{problem}");
    }
    sysctl(&a, "net.ipv4.ping_group_range=0 0");
    assert_eq!(
        problems(&without_capability()),
        ["", "", "9001 bytes do not fit: the MTU of rail0 is 9000"]
    );
}

/// A server in the namespace that says this and then waits.
fn serve(namespace: &Namespace, address: SocketAddr, says: &'static [u8]) {
    let listener = namespace.enter(|| TcpListener::bind(address).unwrap());
    thread::spawn(move || {
        let held: Vec<_> = listener
            .incoming()
            .map(|stream| {
                let mut stream = stream.unwrap();
                stream.write_all(says).unwrap();
                stream
            })
            .collect();
        drop(held);
    });
}

#[test]
fn ns_a_server_that_greets_is_there() {
    let [a, b] = pair("probe-ssh");
    let address = |port: u16| SocketAddr::from(([10, 77, 0, 2], port));
    serve(&b, address(22), b"SSH-2.0-OpenSSH_9.2\r\n");
    serve(&b, address(23), b"");
    serve(&b, "[fd77::2]:22".parse().unwrap(), b"SSH-2.0-x\r\n");
    let probe = |address| ReachabilityProbe::Greeting { address };
    let started = Instant::now();
    let answers = ask(
        &a,
        &[
            probe(address(22)),
            probe("[fd77::2]:22".parse().unwrap()),
            probe(address(23)),
            probe(address(24)),
        ],
    );
    assert!(started.elapsed() < PROBE_TIMEOUT + SLACK_TIMEOUT);
    assert_eq!(
        problems(&answers)[..3],
        [
            "",
            "",
            "it accepts connections and does not greet: timed out"
        ]
    );
    assert!(problems(&answers)[3].contains("refused"), "{answers:?}");
}
