//! `crosstie bench` between two network namespaces of this machine.
//!
//! Needs root, and Debian's `iproute2`.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, Output},
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::common::{
    command::Schema,
    namespace::{Namespace, cabled_pair},
    sshd::crosstie,
};

fn bench(nodes: &[Namespace; 2], arguments: &[&str]) -> Output {
    Command::new(crosstie())
        .arg("bench")
        .args(nodes.each_ref().map(|node| format!("netns:{}", node.0)))
        .args(arguments)
        .output()
        .unwrap()
}

fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn gbps(cell: &Value) -> f64 {
    let gbps = cell["measured"]["gbps"].as_f64();
    gbps.unwrap_or_else(|| panic!("{cell:#}"))
}

#[test]
fn ns_bench_measures_tcp_between_namespaces_and_counters_agree() {
    let nodes = cabled_pair("bench");
    let output = bench(&nodes, &["--tcp", "--seconds", "1", "--json"]);
    let found = told(&output);
    assert_eq!(output.status.code(), Some(0), "{found:#}");
    Schema::published("bench").allows(&found).unwrap();
    let rail = &found["tcp"]["rails"][0];
    for streams in ["one_stream", "several_streams"] {
        for way in ["there", "back"] {
            let cell = &rail[streams][way];
            assert!(gbps(cell) > 0.01, "{found:#}");
            let measured = &cell["measured"];
            assert!(
                measured["gbytes_per_processor_second"].as_f64() > Some(0.0),
                "{found:#}"
            );
        }
    }
    assert!(gbps(&rail["both_ways"]) > 0.01, "{found:#}");
    let latency = &rail["latency"]["measured"];
    assert!(latency["p50_ns"].as_u64() <= latency["p999_ns"].as_u64());
    assert!(latency["count"].as_u64().unwrap() > 10, "{found:#}");
    // Bytes within 2 % of the interfaces' after headers, in every test.
    let findings = found["counter_findings"].as_array().unwrap();
    let bytes = findings.iter().filter(|one| one["kind"] == "bytes");
    assert_eq!(bytes.count(), 0, "{findings:#?}");
    let counters = found["counters"].as_array().unwrap();
    let counted = |one: &&Value| one["grown"]["statistics/tx_bytes"].as_u64() > Some(1 << 20);
    assert!(
        counters.iter().filter(counted).count() >= 5,
        "{counters:#?}"
    );
}

#[test]
fn ns_bench_refuses_nodes_without_a_common_subnet() {
    let nodes = cabled_pair("bench-apart");
    nodes[1].ip("addr flush dev rail0");
    let output = bench(&nodes, &["--tcp", "--seconds", "1"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("share no subnet"), "{text}");
}

#[test]
fn ns_bench_prints_what_iperf3_would_be_told() {
    let nodes = cabled_pair("bench-peer");
    let output = bench(&nodes, &["--as-iperf3", "-P", "4"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.contains("iperf3 -B 10.77.0.2 -s -1"), "{text}");
    assert!(
        text.contains("iperf3 -c 10.77.0.2 -B 10.77.0.1 -P 4 -t 2 -l 1048576"),
        "{text}"
    );
    assert!(text.contains("-P 4 -t 2 -l 1048576 -O 1 -R"), "{text}");
}

/// Where this thread's namespace listens, by the kernel's own table: a port is open for milliseconds.
fn listening() -> Vec<SocketAddr> {
    let text = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, state) = (words.next()?, words.nth(1)?);
        let (address, port) = local.split_once(':')?;
        let address = u32::from_str_radix(address, 16).ok()?.to_ne_bytes();
        let port = u16::from_str_radix(port, 16).ok()?;
        (state == "0A").then(|| SocketAddr::from((address, port)))
    });
    lines.collect()
}

/// Connects to every port that opens, a hundred times: some say nothing, some a part of a message, some garbage. What
/// they heard.
fn disturb(nodes: &[Namespace; 2], stop: &AtomicBool, connected: &AtomicUsize) -> Vec<u8> {
    let words: [&[u8]; 4] = [b"", b"GET / HTTP/1.1\r\n\r\n", &[0; 50], &[0xff; 4000]];
    let (sender, ports) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            nodes[1].enter(move || {
                let mut known: Vec<SocketAddr> = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    for port in listening() {
                        if !known.contains(&port) {
                            known.push(port);
                            sender.send(port).unwrap();
                        }
                    }
                    thread::sleep(Duration::from_micros(200));
                }
            });
        });
        // From the peer's own address.
        nodes[0].enter(move || {
            let mut held = Vec::new();
            for port in ports {
                assert_eq!(port.ip().to_string(), "10.77.0.2", "on the rail's address");
                for number in 0..100_usize {
                    let limit = Duration::from_millis(200);
                    let Ok(mut stream) = TcpStream::connect_timeout(&port, limit) else {
                        break;
                    };
                    let _ = stream.write_all(words[number % 4]);
                    held.push(stream);
                    connected.fetch_add(1, Ordering::Relaxed);
                }
            }
            let mut heard = Vec::new();
            for mut stream in held {
                let limit = Some(Duration::from_millis(200));
                stream.set_read_timeout(limit).unwrap();
                let _ = stream.read_to_end(&mut heard);
            }
            heard
        })
    })
}

#[test]
fn ns_strangers_at_the_data_port_get_nothing_and_disturb_nothing() {
    let nodes = cabled_pair("bench-strange");
    // The port is open for milliseconds: on a busy machine a stranger may come too late to all ports of a run.
    let came = (0..10).any(|_| strangers_disturb_nothing(&nodes) > 0);
    assert!(came, "no stranger was quick enough");
}

/// How many strangers had a connection.
fn strangers_disturb_nothing(nodes: &[Namespace; 2]) -> usize {
    let (stop, connected) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (output, heard) = thread::scope(|scope| {
        let strangers = scope.spawn(|| disturb(nodes, &stop, &connected));
        let output = bench(nodes, &["--tcp", "--seconds", "1", "--json"]);
        stop.store(true, Ordering::Relaxed);
        (output, strangers.join().unwrap())
    });
    let found = told(&output);
    assert_eq!(output.status.code(), Some(0), "{found:#}");
    assert_eq!(heard, b"", "strangers hear nothing");
    let rail = &found["tcp"]["rails"][0];
    assert!(gbps(&rail["several_streams"]["there"]) > 0.01, "{found:#}");
    assert_eq!(nodes[1].enter(listening), [], "no port is left open");
    connected.into_inner()
}
