//! What the ends of a test are asked to do.

use crosstie_fabric::rails::{Rail, RailEnd};
use crosstie_rdma::{
    BandwidthOperation, HostResourceShare, LatencyOperation, RdmaOpenRequest, RdmaRole, RdmaTest,
    TestTimes,
};
use crosstie_report::bench::BenchOperation;

use super::BenchOptions;
use crate::measure::{
    PairTest, TestEnd,
    defaults::{DEFAULT_PATH, LATENCY_SIZE, SILENCE_MILLISECONDS},
};

/// In milliseconds.
const TIMES: TestTimes = TestTimes {
    warm_up: 500,
    measure: 0,
    cool_down: 200,
    silence: SILENCE_MILLISECONDS,
};
/// Of each size of a sweep, and of each whose bytes are looked at.
const SHORT_TIMES: TestTimes = TestTimes {
    warm_up: 100,
    measure: 250,
    cool_down: 50,
    ..TIMES
};
/// 2 bytes to 8 MiB.
const SWEEP: std::ops::RangeInclusive<u32> = 1..=23;
/// Besides the size that was asked for: one byte, and one that no packet, cache line or word divides.
const VERIFIED_SIZES: [u32; 2] = [1, 4099];

/// Which end of a rail sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendDirection {
    There,
    Back,
    Both,
}

impl SendDirection {
    pub(super) fn arrow(self) -> &'static str {
        match self {
            Self::There => "→",
            Self::Back => "←",
            Self::Both => "↔",
        }
    }
}

pub(super) fn bandwidth(options: &BenchOptions, rail: &Rail, way: SendDirection) -> PairTest {
    let times = TestTimes {
        measure: options.measure,
        ..TIMES
    };
    let transfer = transfer(options.operation);
    pair(rail, way, |end| RdmaOpenRequest {
        times,
        ..of_end(
            options,
            end,
            RdmaTest::Bandwidth { transfer },
            vec![options.size],
        )
    })
}

pub(super) fn sweep(options: &BenchOptions, rail: &Rail, way: SendDirection) -> PairTest {
    let sizes: Vec<u32> = SWEEP.map(|power| 1 << power).collect();
    let transfer = transfer(options.operation);
    pair(rail, way, |end| {
        of_end(
            options,
            end,
            RdmaTest::Bandwidth { transfer },
            sizes.clone(),
        )
    })
}

pub(super) fn verify(options: &BenchOptions, rail: &Rail, way: SendDirection) -> PairTest {
    let mut sizes = VERIFIED_SIZES.to_vec();
    sizes.push(options.size);
    sizes.sort_unstable();
    sizes.dedup();
    let transfer = transfer(options.operation);
    pair(rail, way, |end| {
        of_end(options, end, RdmaTest::Verify { transfer }, sizes.clone())
    })
}

pub(super) fn latency(options: &BenchOptions, rail: &Rail, message: LatencyOperation) -> PairTest {
    let times = TestTimes {
        measure: options.measure,
        ..TIMES
    };
    pair(rail, SendDirection::There, |end| RdmaOpenRequest {
        queue_pairs: 1,
        depth: 1,
        list: 1,
        times,
        ..of_end(
            options,
            end,
            RdmaTest::Latency { message },
            vec![LATENCY_SIZE],
        )
    })
}

fn transfer(operation: BenchOperation) -> BandwidthOperation {
    match operation {
        BenchOperation::Write => BandwidthOperation::Write,
        BenchOperation::Read => BandwidthOperation::Read,
        BenchOperation::Send => BandwidthOperation::Send,
    }
}

fn of_end(
    options: &BenchOptions,
    end: &RailEnd,
    test: RdmaTest,
    sizes: Vec<u32>,
) -> RdmaOpenRequest {
    RdmaOpenRequest {
        device: end.device.clone(),
        port: u8::try_from(end.port).unwrap_or(u8::MAX),
        address: end.address,
        interface_mtu: end.mtu,
        role: RdmaRole::Initiator,
        test,
        queue_pairs: options.queue_pairs,
        sizes,
        depth: options.depth,
        list: options.list,
        signal_every: None,
        relaxed_ordering: false,
        path: DEFAULT_PATH,
        times: SHORT_TIMES,
        share: HostResourceShare { index: 0, count: 1 },
    }
}

/// The first node's end sends, unless it is the return direction.
fn pair(
    rail: &Rail,
    way: SendDirection,
    request: impl Fn(&RailEnd) -> RdmaOpenRequest,
) -> PairTest {
    let first = TestEnd {
        node: 0,
        request: request(&rail.near),
    };
    let second = TestEnd {
        node: 1,
        request: request(&rail.far),
    };
    let (near, far) = match way {
        SendDirection::There | SendDirection::Both => (first, second),
        SendDirection::Back => (second, first),
    };
    PairTest {
        near,
        far,
        both_send: way == SendDirection::Both,
    }
}
