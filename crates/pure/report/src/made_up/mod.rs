//! Runs for tests and pictures: figures as real nodes would give them, with faults that were put in.
//!
//! It uses the model alone, so that tests of other crates can have it by its path.

#![allow(dead_code, unused_imports)] // each of them uses a part
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod hostile;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{
    Cable, Gbps, Mtu,
    facts::{pci::LinkSpeed, rdma::LinkLayer},
    run::{
        BandwidthFigures, CounterGrowth, FORMAT, LatencyFigures, MeasuredEnd, Measurement,
        MeasurementFigures, MeasurementOutcome, ProofMode, RdmaOperation, ReachabilityFigure,
        RunEnd, RunEndReason, RunHeader, RunNode, RunOptions, RunPcieLink, RunPort, RunWriter,
        StoredRun, TestConcurrency, TestKind,
    },
};

pub(crate) use hostile::{HOSTILE, hostile};
pub(crate) use shapes::{ring, sixteen, switched, two_sparks};

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
    run: StoredRun,
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
        pcie: vec![RunPcieLink {
            at: format!("0000:{:02x}:00.0", device.len()),
            speed: LinkSpeed(32.0),
            width,
            gbps: Gbps(gbps),
        }],
    }
}

fn header(cluster: &str, nodes: Vec<RunNode>, cabling: Vec<Cable>) -> RunHeader {
    RunHeader {
        format: FORMAT,
        started: "2026-11-14T09:26:00Z".to_owned(),
        crosstie: "0.1.0".to_owned(),
        cluster: Some(cluster.to_owned()),
        options: RunOptions {
            mode: ProofMode::Full,
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
    fn new(header: RunHeader, seed: u64) -> Self {
        Self {
            run: StoredRun::new(header),
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
        phase: TestConcurrency,
        ends: [&MeasuredEnd; 2],
        figures: MeasurementFigures,
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
            outcome: MeasurementOutcome::Measured(figures),
            counters: CounterGrowth::default(),
            doubts: Vec::new(),
        });
        self.run.measurements.last_mut().unwrap()
    }

    fn bandwidth(&mut self, gbps: f64, size: u64) -> MeasurementFigures {
        let windows: Vec<u64> = (0..10)
            .map(|_| (self.wander(gbps, 0.01) * 1e9 / 8.0 / 10.0) as u64)
            .collect();
        let bytes: u64 = windows.iter().sum();
        MeasurementFigures::Bandwidth(BandwidthFigures {
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

    fn latency(&mut self, microseconds: f64) -> MeasurementFigures {
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
        MeasurementFigures::Latency(LatencyFigures {
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
        let answered = MeasurementFigures::Reach(ReachabilityFigure::Answered {
            hardware_address_checked: true,
        });
        self.push(
            TestKind::Reachability,
            TestConcurrency::Solo,
            ends,
            answered,
        )
        .size = Some(8972);
        let tcp = self.wander(path.tcp_gbps, 0.05);
        let figures = self.bandwidth(tcp, 65536);
        let one = self.push(TestKind::TcpBandwidth, TestConcurrency::Solo, ends, figures);
        one.queue_pairs = Some(1);
        let figures = self.latency(path.tcp_us);
        self.push(TestKind::TcpLatency, TestConcurrency::Solo, ends, figures);
        for size in sizes {
            // Small messages are bounded by their number: about 8 million a second.
            let most = 8e6 * *size as f64 * 8.0 / 1e9;
            let gbps = path.gbps.min(most * path.gbps / (most + path.gbps) * 1.6);
            let gbps = self.wander(gbps, 0.008);
            let figures = self.bandwidth(gbps, *size);
            let one = self.push(
                TestKind::RdmaBandwidth(RdmaOperation::Write),
                TestConcurrency::Solo,
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
        self.push(TestKind::RdmaLatency, TestConcurrency::Solo, ends, figures);
        self.round += 1;
    }

    fn all_rails(&mut self, rails: &[(MeasuredEnd, MeasuredEnd, f64)]) {
        for (from, to, gbps) in rails {
            let gbps = self.wander(*gbps, 0.008);
            let figures = self.bandwidth(gbps, 1_048_576);
            let one = self.push(
                TestKind::RdmaBandwidth(RdmaOperation::Write),
                TestConcurrency::AllRails,
                [from, to],
                figures,
            );
            (one.size, one.queue_pairs) = (Some(1_048_576), Some(4));
        }
        self.round += 1;
    }

    fn end(mut self) -> StoredRun {
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
        self.run.end = Some(RunEnd {
            reason: RunEndReason::Finished,
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

/// As it would lie on disk.
pub(crate) fn file(run: &StoredRun) -> String {
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
