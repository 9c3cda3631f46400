//! Runs for tests and pictures: figures as real nodes would give them, with faults that were put in.
//!
//! It uses the model alone, so that tests of other crates can have it by its path.

#![allow(dead_code)] // each of them uses a part
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{
    Cable, Gbps, Mtu,
    facts::{pci::LinkSpeed, rdma::LinkLayer},
    run::{
        BandwidthFigures, CounterGrowth, End, EndReason, FORMAT, Figures, Header, LatencyFigures,
        MeasuredEnd, Measurement, Mode, Operation, Outcome, PcieLink, Phase, Reach, Run, RunNode,
        RunOptions, RunPort, RunWriter, TestKind,
    },
};

pub(crate) const SIZES: [u64; 11] = [
    2, 64, 1024, 4096, 16384, 65536, 262_144, 1_048_576, 2_097_152, 4_194_304, 8_388_608,
];

/// The same numbers every time.
struct Noise(u64);

impl Noise {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1_u64 << 31) as f64
    }
}

/// What a pair does on one rail.
#[derive(Clone, Copy)]
struct Path {
    gbps: f64,
    tcp_gbps: f64,
    rdma_us: f64,
    tcp_us: f64,
    paused: bool,
}

struct Maker {
    run: Run,
    noise: Noise,
    round: u32,
    clock: u64,
}

fn port(
    device: &str,
    interface: &str,
    cage: &str,
    rate: f64,
    (width, gbps): (u32, f64),
    model: &str,
) -> RunPort {
    RunPort {
        device: device.to_owned(),
        port: 1,
        interface: Some(interface.to_owned()),
        cage: Some(cage.to_owned()),
        model: Some(model.to_owned()),
        firmware: Some("28.45.4028".to_owned()),
        software: false,
        link_layer: Some(LinkLayer::Ethernet),
        rate_gbps: Some(Gbps(rate)),
        interface_mtu: Some(Mtu(9000)),
        path_mtu: Some(Mtu(4096)),
        header_bytes: Some(82),
        pcie: vec![PcieLink {
            at: format!("0000:{:02x}:00.0", device.len()),
            speed: LinkSpeed(32.0),
            width,
            gbps: Gbps(gbps),
        }],
    }
}

fn header(cluster: &str, nodes: Vec<RunNode>, cabling: Vec<Cable>) -> Header {
    Header {
        format: FORMAT,
        started: "2026-11-14T09:26:00Z".to_owned(),
        crosstie: "0.1.0".to_owned(),
        cluster: Some(cluster.to_owned()),
        options: RunOptions {
            mode: Mode::Full,
            test_milliseconds: 1000,
            sizes: SIZES.to_vec(),
            queue_pairs: vec![1, 4],
            rate_gbps: None,
        },
        nodes,
        cabling,
        groups: Vec::new(),
    }
}

impl Maker {
    fn new(header: Header, seed: u64) -> Self {
        Self {
            run: Run::new(header),
            noise: Noise(seed),
            round: 0,
            clock: 0,
        }
    }

    fn wander(&mut self, value: f64, share: f64) -> f64 {
        value * (1.0 + (self.noise.next() - 0.5) * 2.0 * share)
    }

    fn push(
        &mut self,
        kind: TestKind,
        phase: Phase,
        ends: [&MeasuredEnd; 2],
        figures: Figures,
    ) -> &mut Measurement {
        self.clock += 40;
        self.run.measurements.push(Measurement {
            kind,
            phase,
            round: self.round,
            from: ends[0].clone(),
            to: ends[1].clone(),
            offset_milliseconds: self.clock,
            size: None,
            queue_pairs: None,
            outcome: Outcome::Measured(figures),
            counters: CounterGrowth::default(),
            doubts: Vec::new(),
        });
        self.run.measurements.last_mut().unwrap()
    }

    fn bandwidth(&mut self, gbps: f64, size: u64) -> Figures {
        let windows: Vec<u64> = (0..10)
            .map(|_| (self.wander(gbps, 0.01) * 1e9 / 8.0 / 10.0) as u64)
            .collect();
        let bytes: u64 = windows.iter().sum();
        Figures::Bandwidth(BandwidthFigures {
            bytes,
            messages: bytes / size.max(1),
            nanoseconds: 1_000_000_000,
            windows,
            window_nanoseconds: 100_000_000,
            processor_nanoseconds: 990_000_000,
            threads: 1,
            complete: true,
            ..BandwidthFigures::default()
        })
    }

    fn latency(&mut self, microseconds: f64) -> Figures {
        let base = self.wander(microseconds, 0.04) * 1000.0;
        // Mostly near the base, with a thin tail.
        let buckets = (0..110).map(|step| {
            let place = f64::from(step);
            let body = 21_000.0 * (-(place - 5.0).powi(2) / 20.0).exp();
            let tail = 260.0 * (-place / 14.0).exp();
            (
                (base * 0.9 * 1.025_f64.powi(step)) as u64,
                (body + tail) as u64,
            )
        });
        let histogram: Vec<(u64, u64)> = buckets.filter(|(_, count)| *count > 0).collect();
        let count: u64 = histogram.iter().map(|(_, count)| count).sum();
        let at = |share: f64| {
            let mut left = (count as f64 * share) as u64;
            let reached = histogram.iter().find(|(_, count)| {
                let found = left < *count;
                left = left.saturating_sub(*count);
                found
            });
            reached.or(histogram.last()).unwrap().0
        };
        Figures::Latency(LatencyFigures {
            count,
            least: at(0.0),
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            most: at(1.0),
            histogram: histogram.clone(),
            complete: true,
        })
    }

    /// Everything between two ports, in one direction.
    fn path(&mut self, from: &MeasuredEnd, to: &MeasuredEnd, path: Path, sizes: &[u64]) {
        let ends = [from, to];
        let answered = Figures::Reach(Reach::Answered {
            hardware_address_checked: true,
        });
        self.push(TestKind::Reachability, Phase::Solo, ends, answered)
            .size = Some(8972);
        let tcp = self.wander(path.tcp_gbps, 0.05);
        let figures = self.bandwidth(tcp, 65536);
        let one = self.push(TestKind::TcpBandwidth, Phase::Solo, ends, figures);
        one.queue_pairs = Some(1);
        let figures = self.latency(path.tcp_us);
        self.push(TestKind::TcpLatency, Phase::Solo, ends, figures);
        for size in sizes {
            // Small messages are bounded by their number: about 8 million a second.
            let most = 8e6 * *size as f64 * 8.0 / 1e9;
            let gbps = path.gbps.min(most * path.gbps / (most + path.gbps) * 1.6);
            let gbps = self.wander(gbps, 0.008);
            let figures = self.bandwidth(gbps, *size);
            let one = self.push(
                TestKind::RdmaBandwidth(Operation::Write),
                Phase::Solo,
                ends,
                figures,
            );
            (one.size, one.queue_pairs) = (Some(*size), Some(4));
            if path.paused {
                one.counters
                    .from
                    .insert("rx_prio3_pause".to_owned(), 184_211);
                one.counters
                    .from
                    .insert("rx_prio3_pause_duration".to_owned(), 412_000);
                one.counters.nanoseconds = Some(1_000_000_000);
            }
        }
        let figures = self.latency(path.rdma_us);
        self.push(TestKind::RdmaLatency, Phase::Solo, ends, figures);
        self.round += 1;
    }

    fn all_rails(&mut self, rails: &[(MeasuredEnd, MeasuredEnd, f64)]) {
        for (from, to, gbps) in rails {
            let gbps = self.wander(*gbps, 0.008);
            let figures = self.bandwidth(gbps, 1_048_576);
            let one = self.push(
                TestKind::RdmaBandwidth(Operation::Write),
                Phase::AllRails,
                [from, to],
                figures,
            );
            (one.size, one.queue_pairs) = (Some(1_048_576), Some(4));
        }
        self.round += 1;
    }

    fn end(mut self) -> Run {
        // Ports of one rail reach each other.
        let mut groups: BTreeMap<u32, BTreeSet<MeasuredEnd>> = BTreeMap::new();
        for end in self
            .run
            .measurements
            .iter()
            .flat_map(|one| [&one.from, &one.to])
        {
            groups.entry(end.rail).or_default().insert(end.clone());
        }
        self.run.header.groups = groups
            .into_values()
            .map(|group| group.into_iter().collect())
            .collect();
        self.run.end = Some(End {
            reason: EndReason::Finished,
            offset_milliseconds: self.clock + 500,
        });
        self.run
    }
}

fn measured_end(
    host: &str,
    device: &str,
    interface: &str,
    address: [u8; 4],
    rail: u32,
    cable: &Cable,
) -> MeasuredEnd {
    MeasuredEnd {
        host: host.to_owned(),
        device: Some(device.to_owned()),
        interface: Some(interface.to_owned()),
        address: Some(address.into()),
        rail,
        cable: Some(cable.to_string()),
    }
}

const TWINS: [(&str, &str, &str); 4] = [
    ("rocep1s0f0", "enp1s0f0np0", "p0"),
    ("roceP2p1s0f0", "enP2p1s0f0np0", "p0"),
    ("rocep1s0f1", "enp1s0f1np1", "p1"),
    ("roceP2p1s0f1", "enP2p1s0f1np1", "p1"),
];

/// Two Sparks with two cables; the second may be slow.
pub(crate) fn two_sparks(slow_cable: bool) -> Run {
    let hosts = ["spark-a", "spark-b"];
    let node = |host: &str| RunNode {
        host: host.to_owned(),
        arch: Some("aarch64".to_owned()),
        distro: Some("Ubuntu 24.04.4 LTS".to_owned()),
        machine: Some("NVIDIA DGX Spark".to_owned()),
        kernel: Some("6.17.0-1014-nvidia".to_owned()),
        rdma_core: Some("50.0-2ubuntu0.2".to_owned()),
        gpu_driver: Some("580.142".to_owned()),
        gpus: vec!["NVIDIA GB10".to_owned()],
        nccl: vec!["2.28.9".to_owned()],
        ports: TWINS
            .iter()
            .map(|(device, interface, cage)| {
                port(device, interface, cage, 200.0, (4, 112.8), "ConnectX-7")
            })
            .collect(),
        ..RunNode::default()
    };
    let cable = |cage: &str| Cable::Direct {
        a: format!("spark-a:{cage}").parse().unwrap(),
        b: format!("spark-b:{cage}").parse().unwrap(),
        number: None,
    };
    let cables = vec![cable("p0"), cable("p1")];
    let mut maker = Maker::new(
        header("sparks", hosts.map(node).to_vec(), cables.clone()),
        7,
    );
    for from in 0..2_usize {
        let mut rails = Vec::new();
        for (rail, (device, interface, cage)) in TWINS.iter().enumerate() {
            let cable = &cables[usize::from(*cage == "p1")];
            let end = |node: usize| {
                let address = [192, 168, 176 + rail as u8, 11 + node as u8];
                measured_end(hosts[node], device, interface, address, rail as u32, cable)
            };
            let slow = slow_cable && *cage == "p1";
            let path = Path {
                gbps: if slow { 41.0 } else { 109.6 },
                tcp_gbps: if slow { 21.0 } else { 36.5 },
                rdma_us: 1.62,
                tcp_us: 24.0,
                paused: slow,
            };
            maker.path(&end(from), &end(1 - from), path, &SIZES);
            rails.push((end(from), end(1 - from), if slow { 20.6 } else { 96.3 }));
        }
        maker.all_rails(&rails);
    }
    maker.end()
}

/// Sixteen nodes with two cards each, on two planes; the cable of `gpu-07` to the second plane is slow, and `gpu-12` has
/// an MTU of 1500.
pub(crate) fn sixteen() -> Run {
    switched(16)
}

pub(crate) fn switched(count: usize) -> Run {
    let hosts: Vec<String> = (1..=count).map(|index| format!("gpu-{index:02}")).collect();
    let cards = [
        ("mlx5_0", "ens1f0np0", "p0", "leaf-a"),
        ("mlx5_1", "ens2f0np0", "p1", "leaf-b"),
    ];
    let small = 11;
    let node = |(index, host): (usize, &String)| RunNode {
        host: host.clone(),
        arch: Some("x86_64".to_owned()),
        distro: Some("Ubuntu 22.04.5 LTS".to_owned()),
        machine: Some("Supermicro SYS-821GE-TNHR".to_owned()),
        kernel: Some("5.15.0-130-generic".to_owned()),
        rdma_driver: Some("24.10-1.1.4".to_owned()),
        rdma_core: Some("2410mlnx54".to_owned()),
        gpu_driver: Some("570.124.06".to_owned()),
        gpus: vec!["NVIDIA H100 80GB HBM3".to_owned(); 2],
        nccl: vec!["2.26.2".to_owned()],
        ports: cards
            .iter()
            .map(|(device, interface, cage, _)| {
                let mut port = port(device, interface, cage, 400.0, (16, 451.0), "ConnectX-7");
                if index == small {
                    (port.interface_mtu, port.path_mtu) = (Some(Mtu(1500)), Some(Mtu(1024)));
                }
                port
            })
            .collect(),
        ..RunNode::default()
    };
    let cable = |host: &str, cage: &str, plane: &str| Cable::Switched {
        port: format!("{host}:{cage}").parse().unwrap(),
        plane: plane.to_owned(),
    };
    let nodes = hosts.iter().enumerate().map(node).collect();
    let cabling = hosts
        .iter()
        .flat_map(|host| cards.map(|(_, _, cage, plane)| cable(host, cage, plane)));
    let mut maker = Maker::new(header("rack-4", nodes, cabling.collect()), 11);
    for from in 0..count {
        for to in (0..count).filter(|to| *to != from) {
            let mut rails = Vec::new();
            for (rail, (device, interface, cage, plane)) in cards.iter().enumerate() {
                let end = |node: usize| {
                    let address = [10, 77, rail as u8, 1 + node as u8];
                    measured_end(
                        &hosts[node],
                        device,
                        interface,
                        address,
                        rail as u32,
                        &cable(&hosts[node], cage, plane),
                    )
                };
                let slow = rail == 1 && [from, to].contains(&6);
                let reduced = [from, to].contains(&small);
                let gbps = match (slow, reduced) {
                    (true, _) => 197.0,
                    (_, true) => 364.0,
                    _ => 386.5,
                };
                let path = Path {
                    gbps,
                    tcp_gbps: 58.0,
                    rdma_us: 1.74,
                    tcp_us: 19.0,
                    paused: false,
                };
                maker.path(&end(from), &end(to), path, &SIZES[5..8]);
                rails.push((end(from), end(to), gbps));
            }
            if to == (from + 1) % count {
                maker.all_rails(&rails);
            }
        }
    }
    maker.end()
}

/// Nodes in a ring, a cable from each to the next; that of the second to the third is slow in one direction.
pub(crate) fn ring(count: usize) -> Run {
    let hosts: Vec<String> = (0..count).map(|index| format!("spark-{index}")).collect();
    let node = |host: &String| RunNode {
        host: host.clone(),
        ports: vec![
            port(
                "rocep1s0f0",
                "enp1s0f0np0",
                "p0",
                200.0,
                (8, 225.6),
                "ConnectX-7",
            ),
            port(
                "rocep1s0f1",
                "enp1s0f1np1",
                "p1",
                200.0,
                (8, 225.6),
                "ConnectX-7",
            ),
        ],
        ..RunNode::default()
    };
    let cable = |index: usize| Cable::Direct {
        a: format!("{}:p1", hosts[index]).parse().unwrap(),
        b: format!("{}:p0", hosts[(index + 1) % count])
            .parse()
            .unwrap(),
        number: None,
    };
    let cables = (0..count).map(cable).collect();
    let mut maker = Maker::new(header("ring", hosts.iter().map(node).collect(), cables), 3);
    for index in 0..count {
        let next = (index + 1) % count;
        let (rail, plugged) = (index as u32, cable(index));
        let near = measured_end(
            &hosts[index],
            "rocep1s0f1",
            "enp1s0f1np1",
            [10, 3, rail as u8, 1],
            rail,
            &plugged,
        );
        let far = measured_end(
            &hosts[next],
            "rocep1s0f0",
            "enp1s0f0np0",
            [10, 3, rail as u8, 2],
            rail,
            &plugged,
        );
        for (from, to, gbps) in [
            (&near, &far, if index == 1 { 171.0 } else { 193.0 }),
            (&far, &near, 192.5),
        ] {
            let path = Path {
                gbps,
                tcp_gbps: 40.0,
                rdma_us: 1.6,
                tcp_us: 22.0,
                paused: false,
            };
            maker.path(from, to, path, &SIZES);
        }
    }
    maker.end()
}

/// Text that wants to be more than text.
pub(crate) const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(2)>",
    "' onmouseover='alert(3)",
    "]]><!--",
    "\u{202e}gnp.evil\u{2066}",
    "</style></title><svg onload=alert(4)>&amp;&#60;",
];

/// Two Sparks whose names, errors and everything else are hostile.
pub(crate) fn hostile() -> Run {
    let mut run = two_sparks(true);
    let wild = |index: usize| HOSTILE[index % HOSTILE.len()].to_owned();
    let names = [
        format!("spark-{}", HOSTILE.concat()),
        format!("b{}", HOSTILE[4]),
    ];
    let rename = |host: &str| names[usize::from(host == "spark-b")].clone();
    let header = &mut run.header;
    header.cluster = Some(HOSTILE.concat());
    header.crosstie = wild(0);
    header.started = wild(1);
    for (index, node) in header.nodes.iter_mut().enumerate() {
        node.host = rename(&node.host);
        node.kernel = Some(wild(index));
        node.machine = Some(wild(index + 1));
        node.gpus = vec![wild(index + 2), wild(index + 3)];
        for port in &mut node.ports {
            port.model = Some(wild(5));
            port.firmware = Some(wild(2));
            port.cage = port
                .cage
                .as_ref()
                .map(|cage| format!("{cage}{}", HOSTILE[0]));
        }
    }
    for cable in &mut header.cabling {
        if let Cable::Direct { a, b, .. } = cable {
            for end in [a, b] {
                end.node = rename(&end.node);
                end.cage += HOSTILE[0];
            }
        }
    }
    let cables: Vec<String> = header.cabling.iter().map(ToString::to_string).collect();
    for end in run.header.groups.iter_mut().flatten() {
        end.host = rename(&end.host);
        end.cable = Some(cables[(end.rail / 2) as usize].clone());
    }
    for (index, one) in run.measurements.iter_mut().enumerate() {
        for end in [&mut one.from, &mut one.to] {
            end.host = rename(&end.host);
            end.cable = Some(cables[(end.rail / 2) as usize].clone());
        }
        one.doubts.push(wild(index));
        if one.kind == TestKind::TcpLatency {
            one.outcome = Outcome::Failed {
                error: HOSTILE.concat(),
            };
        }
    }
    run
}

/// As it would lie on disk.
pub(crate) fn file(run: &Run) -> String {
    let (mut writer, mut text) = RunWriter::new(run.header.clone()).unwrap();
    for measurement in &run.measurements {
        text += &writer.measurement(measurement.clone()).unwrap();
    }
    for lost in &run.lost {
        text += &writer.lost(lost.clone()).unwrap();
    }
    match &run.end {
        Some(end) => text + &writer.end(end.clone()).unwrap(),
        None => text,
    }
}
