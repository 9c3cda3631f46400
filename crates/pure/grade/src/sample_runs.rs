//! Runs made by hand, for tests.

use crosstie_model::{
    Cable, Gbps, Mtu,
    facts::pci::LinkSpeed,
    run::{
        BandwidthFigures, CounterGrowth, FORMAT, MeasuredEnd, Measurement, MeasurementFigures,
        MeasurementOutcome, ProofMode, RdmaOperation, RunHeader, RunNode, RunOptions, RunPcieLink,
        RunPort, StoredRun, TestConcurrency, TestKind,
    },
};

/// A port's physics.
#[derive(Clone, Copy)]
pub(crate) struct SampleCard {
    pub(crate) rate: f64,
    pub(crate) mtu: u32,
    /// GT/s and lanes.
    pub(crate) pcie: Option<(f64, u32)>,
    /// Twins: two functions, each with a PCIe link of its own, on one cable.
    pub(crate) twins: u32,
}

pub(crate) const SPARK: SampleCard = SampleCard {
    rate: 200.0,
    mtu: 9000,
    pcie: Some((32.0, 4)),
    twins: 2,
};

pub(crate) fn end(host: &str, rail: u32) -> MeasuredEnd {
    MeasuredEnd {
        host: host.to_owned(),
        device: Some(format!("mlx5_{rail}")),
        interface: None,
        address: None,
        rail,
        cable: Some("a:p0 – b:p0".to_owned()),
    }
}

/// Two nodes and one cable.
pub(crate) fn pair(card: SampleCard) -> StoredRun {
    let port = |rail: u32| RunPort {
        device: format!("mlx5_{rail}"),
        port: 1,
        interface: None,
        cage: Some("p0".to_owned()),
        model: None,
        firmware: Some("28.45".to_owned()),
        software: false,
        link_layer: None,
        rate_gbps: Some(Gbps(card.rate)),
        interface_mtu: Some(Mtu(card.mtu)),
        path_mtu: crosstie_fabric::wire::roce_path_mtu(Mtu(card.mtu)),
        header_bytes: Some(82),
        pcie: card
            .pcie
            .into_iter()
            .map(|(speed, width)| link(rail, speed, width))
            .collect(),
    };
    let node = |host: &str| RunNode {
        host: host.to_owned(),
        kernel: Some("6.17.0-1008".to_owned()),
        ports: (0..card.twins).map(port).collect(),
        ..RunNode::default()
    };
    let groups = (0..card.twins).map(|rail| vec![end("a", rail), end("b", rail)]);
    StoredRun::new(RunHeader {
        format: FORMAT,
        started: "2026-11-01T12:00:00Z".to_owned(),
        crosstie: "0.1.0".to_owned(),
        cluster: None,
        options: RunOptions {
            mode: ProofMode::Full,
            test_milliseconds: 1000,
            sizes: vec![1 << 20],
            queue_pairs: vec![1, 4],
            rate_gbps: None,
        },
        nodes: vec![node("a"), node("b")],
        cabling: vec![Cable::Direct {
            a: "a:p0".parse().unwrap(),
            b: "b:p0".parse().unwrap(),
            number: None,
        }],
        groups: groups.collect(),
    })
}

fn link(rail: u32, speed: f64, width: u32) -> RunPcieLink {
    RunPcieLink {
        at: format!("000{rail}:01:00.0"),
        speed: LinkSpeed(speed),
        width,
        gbps: crosstie_fabric::pcie::link_rate(LinkSpeed(speed), width).unwrap(),
    }
}

/// A second of RDMA writes from `a` to `b`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn write(gbps: f64, rail: u32) -> Measurement {
    let bytes = (gbps * 125_000_000.0) as u64;
    Measurement {
        kind: TestKind::RdmaBandwidth(RdmaOperation::Write),
        phase: TestConcurrency::Solo,
        round: 1,
        from: end("a", rail),
        to: end("b", rail),
        offset_milliseconds: 0,
        size: Some(1 << 20),
        queue_pairs: Some(4),
        outcome: MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(BandwidthFigures {
            bytes,
            messages: bytes >> 20,
            nanoseconds: 1_000_000_000,
            windows: vec![bytes / 10; 10],
            window_nanoseconds: 100_000_000,
            processor_nanoseconds: 1_000_000_000,
            threads: 1,
            complete: true,
            ..BandwidthFigures::default()
        })),
        counters: CounterGrowth::default(),
        doubts: Vec::new(),
    }
}

pub(crate) fn back(measurement: Measurement) -> Measurement {
    Measurement {
        from: measurement.to,
        to: measurement.from,
        ..measurement
    }
}

/// The same figure both ways.
pub(crate) fn both_ways(run: &mut StoredRun, gbps: f64, rail: u32) {
    run.measurements
        .extend([write(gbps, rail), back(write(gbps, rail))]);
}

pub(crate) fn grown<const N: usize>(
    counters: [(&str, u64); N],
) -> std::collections::BTreeMap<String, u64> {
    counters
        .into_iter()
        .map(|(name, by)| (name.to_owned(), by))
        .collect()
}
