//! Real frames on real links: agents in network namespaces, cabled with veth pairs and a bridge.
//!
//! Needs root, and Debian's `iproute2`.

use std::{
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crosstie_agent::{CablingCall, Call, CallError, NodeCalls, open};
use crosstie_fabric::cabling::{CablingKey, CablingReply, CablingRequest, CablingToken};
use crosstie_node::cabling::CablingError;
use crosstie_reach::{
    ConnectOptions, NodeRoute,
    binary::AgentBinaries,
    protocol::{ToAgent, encode_message},
};

use crate::common::namespace::{Namespace, ip};

const CROSSTIE: &str = env!("CARGO_BIN_EXE_crosstie");
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

fn is_up(node: &Namespace, interface: &str) -> bool {
    node.ip(&format!("-j link show dev {interface}"))
        .contains("\"UP\"")
}

/// What a file says inside.
fn read(node: &Namespace, path: &str) -> String {
    node.exec(&["cat", path]).trim().to_owned()
}

fn addresses(node: &Namespace, interface: &str) -> usize {
    let shown = node.ip(&format!("-o addr show dev {interface}"));
    shown.lines().count()
}

fn cable(a: (&Namespace, &str), b: (&Namespace, &str)) {
    let (a, a_name, b, b_name) = (&a.0.0, a.1, &b.0.0, b.1);
    ip(&format!(
        "link add {a_name} netns {a} type veth peer name {b_name} netns {b}"
    ));
}

fn probe(run: u8, node: u16, interfaces: &[&str], seconds: u64) -> CablingRequest {
    let mut token = [run; 16];
    token[..4].copy_from_slice(&std::process::id().to_be_bytes());
    CablingRequest {
        token: CablingToken(token),
        key: CablingKey([run; 32]),
        node,
        interfaces: interfaces.iter().map(|name| (*name).to_owned()).collect(),
        listen_ms: seconds * 1000,
    }
}

fn listen(
    namespace: &Namespace,
    probe: &CablingRequest,
) -> Result<CablingReply, CallError<CablingError>> {
    let route = NodeRoute::Namespace {
        name: namespace.0.clone(),
        program: CROSSTIE.into(),
    };
    let wanted = ConnectOptions {
        binaries: &AgentBinaries::default(),
        root: None,
        deadline: CALL_TIMEOUT,
        progress: &|_| (),
    };
    open(&route, &wanted)
        .unwrap()
        .cabling(probe, CALL_TIMEOUT, &|_| (), &mut |_| ())
}

fn listen_all<const N: usize>(parts: [(&Namespace, CablingRequest); N]) -> [CablingReply; N] {
    thread::scope(|scope| {
        parts
            .map(|(namespace, probe)| scope.spawn(move || listen(namespace, &probe).unwrap()))
            .map(|part| part.join().unwrap())
    })
}

/// The (node, port) of those that a port heard.
fn heard(listened: &CablingReply, port: usize) -> Vec<(u16, u16)> {
    let heard = listened.ports[port].heard.iter();
    heard
        .map(|heard| (heard.sender.node, heard.sender.port))
        .collect()
}

/// Those of the runs from 10 to 15; other tests have others.
fn journals() -> Vec<String> {
    let entries = std::fs::read_dir("/var/lib/crosstie/cabling").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let ours = format!("{:08x}0", std::process::id());
    names
        .filter(|name| {
            name.starts_with(&ours) && Path::new(name).extension().is_some_and(|end| end == "json")
        })
        .collect()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ns_links_that_are_down_come_up_to_listen_and_go_down_again() {
    let (a, b, elsewhere) = (
        Namespace::new("down-a"),
        Namespace::new("down-b"),
        Namespace::new("down-x"),
    );
    cable((&a, "rail0"), (&b, "rail0"));
    cable((&a, "rail1"), (&elsewhere, "rail0"));
    cable((&b, "uplink"), (&elsewhere, "uplink"));
    b.ip("addr add 192.0.2.2/24 dev uplink");
    b.ip("link set uplink up");
    b.ip("route add default via 192.0.2.1");
    b.ip("link add bridge0 type bridge");
    cable((&b, "rail1"), (&elsewhere, "rail1"));
    b.ip("link set rail1 master bridge0");
    let [at_a, at_b] = listen_all([
        (&a, probe(0x11, 0, &["rail0", "rail1", "gone"], 8)),
        (
            &b,
            probe(0x11, 1, &["uplink", "rail0", "rail1", "bridge0"], 8),
        ),
    ]);
    assert_eq!(heard(&at_a, 0), [(1, 1)]);
    assert_eq!(heard(&at_b, 1), [(0, 0)]);
    assert_eq!(heard(&at_a, 1), []);
    assert_eq!(
        (at_a.ports[0].carrier_before, at_a.ports[0].carrier),
        (None, Some(true))
    );
    assert_eq!(at_a.ports[1].carrier, Some(false));
    assert!(at_a.ports[0].raised && at_a.ports[0].strangers == 0);
    let problem =
        |listened: &CablingReply, port: usize| listened.ports[port].problem.clone().unwrap();
    assert_eq!(problem(&at_a, 2), "there is no such interface");
    assert_eq!(problem(&at_b, 0), "the node is managed over it");
    assert_eq!(problem(&at_b, 2), "it belongs to bridge0");
    assert_eq!(at_b.ports[3].problem, None);
    for (namespace, interface) in [(&a, "rail0"), (&a, "rail1"), (&b, "rail0"), (&b, "bridge0")] {
        assert!(!is_up(namespace, interface), "{interface}");
        assert_eq!(addresses(namespace, interface), 0, "{interface}");
        let ipv6 = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
        assert_eq!(read(namespace, &ipv6), "0", "{interface}");
    }
    assert!(is_up(&b, "uplink"));
    assert_eq!((at_a.left.len(), at_a.restored.len()), (0, 0));
}

#[test]
fn ns_a_bridge_is_a_plane_and_other_runs_are_strangers() {
    let switch = Namespace::new("switch");
    switch.ip("link add plane type bridge");
    switch.ip("link set plane up");
    let nodes = ["sw-a", "sw-b", "sw-c", "sw-d"].map(Namespace::new);
    for (index, node) in nodes.iter().enumerate() {
        let port = format!("port{index}");
        cable((node, "rail0"), (&switch, &port));
        switch.ip(&format!("link set {port} master plane up"));
        node.ip("link set rail0 up");
    }
    for node in &nodes {
        node.wait_for_link("rail0");
    }
    let shown = || nodes.each_ref().map(|node| node.ip("addr show dev rail0"));
    let before = shown();
    let [a, b, c, d] = &nodes;
    let heard_by = listen_all([
        (a, probe(2, 0, &["rail0"], 8)),
        (b, probe(2, 1, &["rail0"], 8)),
        (c, probe(2, 2, &["rail0"], 8)),
        (d, probe(3, 0, &["rail0"], 8)),
    ]);
    assert_eq!(heard(&heard_by[0], 0), [(1, 0), (2, 0)]);
    assert_eq!(heard(&heard_by[1], 0), [(0, 0), (2, 0)]);
    assert_eq!(heard(&heard_by[2], 0), [(0, 0), (1, 0)]);
    assert_eq!(heard(&heard_by[3], 0), []);
    for listened in &heard_by {
        assert!(listened.ports[0].strangers > 0);
        assert!(!listened.ports[0].raised);
    }
    assert_eq!(shown(), before, "links that were up are as they were");
}

/// An agent whose standard input is ours to close.
fn agent(namespace: &Namespace) -> Child {
    Command::new("ip")
        .args(["netns", "exec", &namespace.0, CROSSTIE, "agent"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn call(agent: &mut Child, message: &ToAgent, ask: &[u8]) {
    let frame = encode_message(message, ask).unwrap();
    agent.stdin.as_mut().unwrap().write_all(&frame).unwrap();
}

fn start(agent: &mut Child, run: u8, deadline: Duration) {
    let ask = serde_json::to_vec(&probe(run, 0, &["rail0"], 300)).unwrap();
    let deadline_ms = deadline.as_millis().try_into().unwrap();
    call(
        agent,
        &ToAgent::Call {
            id: 1,
            deadline_ms,
            name: CablingCall::NAME.to_owned(),
        },
        &ask,
    );
}

#[test]
fn ns_links_go_down_whatever_ends_the_call() {
    let (a, b) = (Namespace::new("end-a"), Namespace::new("end-b"));
    cable((&a, "rail0"), (&b, "rail0"));
    let up = || wait_until("the link comes up", || is_up(&a, "rail0"));
    let down = || wait_until("the link goes down", || !is_up(&a, "rail0"));

    // The controller leaves.
    let mut left = agent(&a);
    start(&mut left, 10, CALL_TIMEOUT);
    up();
    assert_eq!(journals().len(), 1);
    left.stdin = None;
    assert!(left.wait().unwrap().success());
    assert!(!is_up(&a, "rail0"));

    // It changes its mind; it is too slow; somebody ends the agent.
    let mut agent = agent(&a);
    start(&mut agent, 11, CALL_TIMEOUT);
    up();
    call(&mut agent, &ToAgent::Cancel { id: 1 }, &[]);
    down();
    wait_until("the journal goes", || journals().is_empty());
    start(&mut agent, 12, Duration::from_secs(8));
    up();
    down();
    wait_until("the journal goes", || journals().is_empty());
    start(&mut agent, 13, CALL_TIMEOUT);
    up();
    let process = rustix::process::Pid::from_child(&agent);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    agent.wait().unwrap();
    assert!(!is_up(&a, "rail0"));

    // Killed, it cannot. The next run does, and says so.
    let mut killed = self::agent(&a);
    start(&mut killed, 14, CALL_TIMEOUT);
    up();
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(is_up(&a, "rail0"));
    assert_eq!(journals().len(), 1);
    assert_eq!(read(&a, "/proc/sys/net/ipv6/conf/rail0/disable_ipv6"), "1");
    let listened = listen(&a, &probe(15, 0, &["rail0"], 3)).unwrap();
    assert_eq!(
        listened.restored,
        ["rail0 had been left up and is down again"]
    );
    assert!(listened.ports[0].raised);
    assert!(!is_up(&a, "rail0"));
    assert_eq!(read(&a, "/proc/sys/net/ipv6/conf/rail0/disable_ipv6"), "0");
    assert_eq!(journals(), Vec::<String>::new());
}

#[test]
fn ns_one_run_at_a_time() {
    let (a, b) = (Namespace::new("busy-a"), Namespace::new("busy-b"));
    cable((&a, "rail0"), (&b, "rail0"));
    let mut first = agent(&a);
    start(&mut first, 0x20, CALL_TIMEOUT);
    wait_until("the link comes up", || is_up(&a, "rail0"));
    let refused = listen(&a, &probe(0x21, 0, &["rail0"], 2)).unwrap_err();
    assert!(refused.to_string().contains("another run"), "{refused}");
    first.stdin = None;
    first.wait().unwrap();
}
