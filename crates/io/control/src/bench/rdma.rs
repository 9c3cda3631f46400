//! The RDMA tests of a rail, and of all rails at once.

use crosstie_fabric::rails::{Rail, RailEnd};
use crosstie_rdma::{Direction, Figures, OpenRequest, PathRequest, Role, Test, Times};
use crosstie_report::bench::{Directions, Operation, RailResult};

use super::{
    BenchOptions,
    figures::{cell, one, percentiles, sum},
};
use crate::{
    Event, Fleet,
    measure::{End, MeasureError, PairTest, measure},
};

/// perftest's; a timeout of 14 is 67 ms.
const PATH: PathRequest = PathRequest {
    timeout: 14,
    retry_count: 7,
    service_level: 0,
    traffic_class: 0,
};
const DEPTH: u32 = 128;
/// In milliseconds.
const WARM_UP: u32 = 500;
const COOL_DOWN: u32 = 200;
const SILENCE: u32 = 3000;
/// Bytes of a message whose latency is measured.
const LATENCY_SIZE: u32 = 2;

pub(super) struct RdmaRun<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) options: &'a BenchOptions,
}

impl RdmaRun<'_> {
    pub(super) fn rail(&self, rail: &Rail) -> RailResult {
        let name = &rail.near.device;
        let [there, back] = [false, true].map(|is_back| {
            let arrow = if is_back { "←" } else { "→" };
            let figures =
                self.measure(&format!("{name} {arrow}"), &[self.bandwidth(rail, is_back)]);
            one(figures).map(|figures| sum(&[figures]))
        });
        let latency = self.measure(&format!("{name} latency"), &[self.latency(rail)]);
        RailResult {
            devices: [rail.near.device.clone(), rail.far.device.clone()],
            bandwidth: Directions {
                there: cell(there),
                back: cell(back),
            },
            latency: cell(one(latency).and_then(|figures| percentiles(&figures))),
        }
    }

    /// All rails at once.
    pub(super) fn all(&self, rails: &[Rail]) -> Directions {
        let [there, back] = [false, true].map(|is_back| {
            let tests = rails.iter().map(|rail| self.bandwidth(rail, is_back));
            let tests: Vec<PairTest> = tests.collect();
            let arrow = if is_back { "←" } else { "→" };
            let figures = self.measure(&format!("all rails {arrow}"), &tests);
            let figures = figures.into_iter().collect::<Result<Vec<_>, _>>();
            cell(figures.map(|figures| sum(&figures)))
        });
        Directions { there, back }
    }

    fn measure(&self, name: &str, tests: &[PairTest]) -> Vec<Result<Figures, String>> {
        let observer = &self.fleet.options().observer;
        observer.observe(Event::TestBegan { name });
        let figures = measure(self.fleet, tests);
        let text = |error: MeasureError| error.to_string();
        figures.into_iter().map(|one| one.map_err(text)).collect()
    }

    fn bandwidth(&self, rail: &Rail, is_back: bool) -> PairTest {
        let direction = match self.options.operation {
            Operation::Write => Direction::Write,
            Operation::Read => Direction::Read,
        };
        let size = self.options.size;
        let request = |end: &RailEnd| OpenRequest {
            test: Test::Bandwidth { direction },
            queue_pairs: self.options.queue_pairs,
            size,
            signal_every: OpenRequest::usual_signal_every(size, DEPTH),
            ..self.request(end)
        };
        pair(rail, is_back, request)
    }

    fn latency(&self, rail: &Rail) -> PairTest {
        let request = |end: &RailEnd| OpenRequest {
            test: Test::Latency,
            size: LATENCY_SIZE,
            depth: 1,
            ..self.request(end)
        };
        pair(rail, false, request)
    }

    fn request(&self, end: &RailEnd) -> OpenRequest {
        OpenRequest {
            device: end.device.clone(),
            port: u8::try_from(end.port).unwrap_or(u8::MAX),
            address: end.address,
            interface_mtu: end.mtu,
            role: Role::Initiator,
            test: Test::Latency,
            queue_pairs: 1,
            size: LATENCY_SIZE,
            depth: DEPTH,
            list: 1,
            signal_every: 1,
            relaxed_ordering: false,
            path: PATH,
            times: Times {
                warm_up: WARM_UP,
                measure: self.options.measure,
                cool_down: COOL_DOWN,
                silence: SILENCE,
            },
        }
    }
}

/// The first node's end sends, unless it is the way back.
fn pair(rail: &Rail, is_back: bool, request: impl Fn(&RailEnd) -> OpenRequest) -> PairTest {
    let first = End {
        node: 0,
        request: request(&rail.near),
    };
    let second = End {
        node: 1,
        request: request(&rail.far),
    };
    let (near, far) = if is_back {
        (second, first)
    } else {
        (first, second)
    };
    PairTest { near, far }
}
