//! What the ends of a test are asked to do.

use crosstie_fabric::rails::{Rail, RailEnd};
use crosstie_rdma::{Message, OpenRequest, Role, Share, Test, Times, Transfer};
use crosstie_report::bench::Operation;

use super::BenchOptions;
use crate::measure::{
    End, PairTest,
    usual::{LATENCY_SIZE, PATH, SILENCE},
};

/// In milliseconds.
const TIMES: Times = Times {
    warm_up: 500,
    measure: 0,
    cool_down: 200,
    silence: SILENCE,
};
/// Of each size of a sweep, and of each whose bytes are looked at.
const SHORT_TIMES: Times = Times {
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
pub(super) enum Way {
    There,
    Back,
    Both,
}

impl Way {
    pub(super) fn arrow(self) -> &'static str {
        match self {
            Self::There => "→",
            Self::Back => "←",
            Self::Both => "↔",
        }
    }
}

pub(super) fn bandwidth(options: &BenchOptions, rail: &Rail, way: Way) -> PairTest {
    let times = Times {
        measure: options.measure,
        ..TIMES
    };
    let transfer = transfer(options.operation);
    pair(rail, way, |end| OpenRequest {
        times,
        ..of_end(
            options,
            end,
            Test::Bandwidth { transfer },
            vec![options.size],
        )
    })
}

pub(super) fn sweep(options: &BenchOptions, rail: &Rail, way: Way) -> PairTest {
    let sizes: Vec<u32> = SWEEP.map(|power| 1 << power).collect();
    let transfer = transfer(options.operation);
    pair(rail, way, |end| {
        of_end(options, end, Test::Bandwidth { transfer }, sizes.clone())
    })
}

pub(super) fn verify(options: &BenchOptions, rail: &Rail, way: Way) -> PairTest {
    let mut sizes = VERIFIED_SIZES.to_vec();
    sizes.push(options.size);
    sizes.sort_unstable();
    sizes.dedup();
    let transfer = transfer(options.operation);
    pair(rail, way, |end| {
        of_end(options, end, Test::Verify { transfer }, sizes.clone())
    })
}

pub(super) fn latency(options: &BenchOptions, rail: &Rail, message: Message) -> PairTest {
    let times = Times {
        measure: options.measure,
        ..TIMES
    };
    pair(rail, Way::There, |end| OpenRequest {
        queue_pairs: 1,
        depth: 1,
        list: 1,
        times,
        ..of_end(options, end, Test::Latency { message }, vec![LATENCY_SIZE])
    })
}

fn transfer(operation: Operation) -> Transfer {
    match operation {
        Operation::Write => Transfer::Write,
        Operation::Read => Transfer::Read,
        Operation::Send => Transfer::Send,
    }
}

fn of_end(options: &BenchOptions, end: &RailEnd, test: Test, sizes: Vec<u32>) -> OpenRequest {
    OpenRequest {
        device: end.device.clone(),
        port: u8::try_from(end.port).unwrap_or(u8::MAX),
        address: end.address,
        interface_mtu: end.mtu,
        role: Role::Initiator,
        test,
        queue_pairs: options.queue_pairs,
        sizes,
        depth: options.depth,
        list: options.list,
        signal_every: None,
        relaxed_ordering: false,
        path: PATH,
        times: SHORT_TIMES,
        share: Share { index: 0, count: 1 },
    }
}

/// The first node's end sends, unless it is the way back.
fn pair(rail: &Rail, way: Way, request: impl Fn(&RailEnd) -> OpenRequest) -> PairTest {
    let first = End {
        node: 0,
        request: request(&rail.near),
    };
    let second = End {
        node: 1,
        request: request(&rail.far),
    };
    let (near, far) = match way {
        Way::There | Way::Both => (first, second),
        Way::Back => (second, first),
    };
    PairTest {
        near,
        far,
        both_send: way == Way::Both,
    }
}
