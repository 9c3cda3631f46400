//! The TCP tests of a rail, and of all rails at once.

use std::cell::RefCell;

use crosstie_counters::{PayloadTraffic, TrafficCarrier};
use crosstie_fabric::ip_rails::{IpRail, IpRailEnd};
use crosstie_figures::{MeasuredBandwidth as Received, TestTimes};
use crosstie_report::bench::{
    BenchBandwidth, BenchLatency, BothDirections, MeasuredValue, TcpBench as TcpReport,
    TcpRailResult,
};
use crosstie_tcp::{TcpDirection, TcpFigures, TcpOpenRequest, TcpRole, TcpTest};

use super::{
    BenchOptions,
    counters::{CounterRecorder, MovedTraffic, SHORTEST_COMPARED},
    figures::{cell, of_histogram, received},
};
use crate::{
    ControlEvent, Fleet,
    measure::{
        MeasureError, PairTest, PairTestResult, TcpTestEngine, TestEnd,
        defaults::{SILENCE_MILLISECONDS, TCP_LATENCY_SIZE},
        longest, measure,
    },
};

/// In milliseconds. TCP needs longer than RDMA to find its speed.
const WARM_UP: u32 = 500;
const COOL_DOWN: u32 = 100;

pub(super) struct TcpBenchRun<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) options: &'a BenchOptions,
    pub(super) recorder: &'a CounterRecorder<'a>,
    /// Where a rail's ports are among the recorder's.
    pub(super) first_port: usize,
    /// What made the figures doubtful, each once.
    pub(super) doubts: RefCell<Vec<String>>,
    /// A node that does not answer any more: what is left is not begun.
    pub(super) lost: RefCell<Option<MeasureError>>,
}

type Tested = Vec<Result<PairTestResult<TcpTestEngine>, MeasureError>>;

impl TcpBenchRun<'_> {
    pub(super) fn run(&self, rails: &[IpRail]) -> TcpReport {
        let of_rails = rails.iter().enumerate();
        TcpReport {
            streams: self.options.streams,
            block: self.options.block,
            message: TCP_LATENCY_SIZE,
            rails: of_rails
                .map(|(place, rail)| self.rail(place, rail))
                .collect(),
            all_rails: (rails.len() > 1).then(|| self.all(rails)),
        }
    }

    fn rail(&self, place: usize, rail: &IpRail) -> TcpRailResult {
        let rails = [(place, rail)];
        let name = &rail.near.interface;
        let one_stream = self.directions(&format!("{name} TCP, 1 stream"), &rails, 1);
        let streams = self.options.streams;
        let several_streams = if streams == 1 {
            one_stream.clone()
        } else {
            self.directions(&format!("{name} TCP, {streams} streams"), &rails, streams)
        };
        TcpRailResult {
            interfaces: [rail.near.interface.clone(), rail.far.interface.clone()],
            addresses: [rail.near.address, rail.far.address].map(|address| address.to_string()),
            one_stream,
            several_streams,
            both_ways: self.bandwidth(
                &format!("{name} TCP, both ways"),
                &rails,
                streams,
                TcpDirection::Both,
            ),
            latency: self.latency(rail),
        }
    }

    fn all(&self, rails: &[IpRail]) -> BothDirections<BenchBandwidth> {
        let rails: Vec<(usize, &IpRail)> = rails.iter().enumerate().collect();
        self.directions("all rails TCP", &rails, self.options.streams)
    }

    fn directions(
        &self,
        name: &str,
        rails: &[(usize, &IpRail)],
        streams: u16,
    ) -> BothDirections<BenchBandwidth> {
        let of = |arrow: &str, direction| {
            self.bandwidth(&format!("{name} {arrow}"), rails, streams, direction)
        };
        BothDirections {
            there: of("→", TcpDirection::ToListener),
            back: of("←", TcpDirection::FromListener),
        }
    }

    fn bandwidth(
        &self,
        name: &str,
        rails: &[(usize, &IpRail)],
        streams: u16,
        direction: TcpDirection,
    ) -> MeasuredValue<BenchBandwidth> {
        let tests: Vec<PairTest<TcpOpenRequest>> = rails
            .iter()
            .map(|(_, rail)| {
                self.pair(
                    rail,
                    TcpTest::Bandwidth { direction },
                    streams,
                    self.options.block,
                )
            })
            .collect();
        let tested = self.measure(name, &tests, |tested| self.moved(rails, tested));
        let all = tested
            .into_iter()
            .map(|one| ways(one.map_err(|error| error.to_string())?))
            .collect::<Result<Vec<_>, _>>();
        cell(all.and_then(|all| received(all.into_iter().flatten())))
    }

    fn latency(&self, rail: &IpRail) -> MeasuredValue<BenchLatency> {
        let name = format!("{} TCP latency", rail.near.interface);
        let test = self.pair(rail, TcpTest::Latency, 1, TCP_LATENCY_SIZE);
        let tested = self.measure(&name, &[test], |_| Vec::new());
        let near = tested.into_iter().next().map(|one| match one {
            Ok(measured) => match measured.near.figures {
                TcpFigures::Latency(latency) => of_histogram(&latency.half_round_trips),
                _ => Err("the engine measured something else".to_owned()),
            },
            Err(error) => Err(error.to_string()),
        });
        cell(near.unwrap_or_else(|| Err("it was not begun".to_owned())))
    }

    fn measure(
        &self,
        name: &str,
        tests: &[PairTest<TcpOpenRequest>],
        moved: impl FnOnce(&Tested) -> Vec<MovedTraffic>,
    ) -> Tested {
        if let Some(lost) = self.lost.borrow().as_ref() {
            return tests.iter().map(|_| Err(lost.clone())).collect();
        }
        let observer = &self.fleet.options().observer;
        let within = longest::<TcpTestEngine>(tests);
        observer.observe(ControlEvent::TestBegan { name, within });
        let work = || measure::<TcpTestEngine>(self.fleet, tests);
        let tested = self.recorder.around(name, work, moved);
        let mut errors = tested.iter().filter_map(|one| one.as_ref().err());
        *self.lost.borrow_mut() = errors.find(|error| error.is_lost()).cloned();
        let measured = tested.iter().flatten();
        for unbound in measured.flat_map(|one| [&one.near.conditions, &one.far.conditions]) {
            let mut doubts = self.doubts.borrow_mut();
            if let Some(why) = unbound
                && !doubts.contains(why)
            {
                doubts.push(why.clone());
            }
        }
        tested
    }

    /// What went over which ports, by the sender's word.
    fn moved(&self, rails: &[(usize, &IpRail)], tested: &Tested) -> Vec<MovedTraffic> {
        let mut all = Vec::new();
        if self.options.block < SHORTEST_COMPARED {
            return all;
        }
        for ((place, rail), one) in rails.iter().zip(tested) {
            let Ok(measured) = one else { continue };
            let ends = [&measured.near.figures, &measured.far.figures];
            for (node, end) in ends.into_iter().enumerate() {
                let TcpFigures::Bandwidth {
                    sent: Some(sent), ..
                } = end
                else {
                    continue;
                };
                let port = self.first_port + place;
                let mtus = [rail.near.mtu, rail.far.mtu].into_iter().flatten();
                all.push(MovedTraffic {
                    sender: (node, port),
                    receiver: (1 - node, port),
                    traffic: vec![PayloadTraffic {
                        carrier: TrafficCarrier::Tcp {
                            interface_mtu: mtus.map(|mtu| mtu.0).min().unwrap_or(1500),
                        },
                        payload: sent.bytes,
                        is_ipv6: rail.near.address.is_ipv6(),
                    }],
                });
            }
        }
        all
    }

    /// The near end connects, and the far end listens, whichever of them sends.
    fn pair(
        &self,
        rail: &IpRail,
        test: TcpTest,
        streams: u16,
        size: u32,
    ) -> PairTest<TcpOpenRequest> {
        let end = |node, end: &IpRailEnd| TestEnd {
            node,
            request: TcpOpenRequest {
                address: end.address,
                interface: Some(end.interface.clone()),
                role: TcpRole::Connector,
                test,
                streams,
                size,
                times: TestTimes {
                    warm_up: WARM_UP,
                    measure: self.options.measure,
                    cool_down: COOL_DOWN,
                    silence: SILENCE_MILLISECONDS,
                },
            },
        };
        PairTest {
            near: end(0, &rail.near),
            far: end(1, &rail.far),
            both_send: false,
        }
    }
}

/// What each end received, with the processor time of the end that sent it.
fn ways(measured: PairTestResult<TcpTestEngine>) -> Result<Vec<(Received, u64)>, String> {
    let ends = [measured.near.figures, measured.far.figures];
    let [near, far] = ends.map(|end| match end {
        TcpFigures::Bandwidth { received, sent } => (received, sent),
        _ => (None, None),
    });
    let ways = [(near.0, far.1), (far.0, near.1)];
    let ways = ways.into_iter().filter_map(|(received, sent)| {
        let sender = sent.map_or(0, |sent| sent.processor_nanoseconds);
        Some((received?, sender))
    });
    let ways: Vec<(Received, u64)> = ways.collect();
    if ways.is_empty() {
        return Err("the engine measured nothing".to_owned());
    }
    if ways.iter().any(|(received, _)| !received.complete) {
        return Err("it was stopped before its time".to_owned());
    }
    Ok(ways)
}
