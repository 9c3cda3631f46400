//! The RDMA tests of a rail, and of all rails at once.

use std::cell::RefCell;

use crosstie_counters::{PayloadTraffic, TrafficCarrier};
use crosstie_fabric::{rails::Rail, wire::roce_path_mtu};
use crosstie_model::Facts;
use crosstie_rdma::{BandwidthOperation, LatencyOperation, RdmaFigures, RdmaTest};
use crosstie_report::bench::{
    AllRailsResult, BenchBandwidth, BenchLatencies, BenchLatency, BidirectionalBandwidth,
    BothDirections, MeasuredValue, RailResult, VerifiedData,
};

use super::{
    BenchOptions,
    counters::{CounterRecorder, MovedTraffic, SHORTEST_COMPARED},
    doubts::of_conditions,
    figures::{bandwidths, bidirectional, cell, percentiles, sum, verified},
    requests::{self, SendDirection},
};
use crate::{
    ControlEvent, Fleet,
    measure::{
        MeasureError, PairTest, PairTestResult, RdmaTestEngine, TestEnd, TestEndResult, longest,
        measure,
    },
};

pub(super) struct RdmaBenchRun<'a> {
    fleet: &'a Fleet,
    /// The two nodes, as they call themselves.
    hosts: [String; 2],
    options: &'a BenchOptions,
    recorder: &'a CounterRecorder<'a>,
    facts: [&'a Facts; 2],
    seen: RefCell<Seen>,
}

/// What tests have shown besides figures.
#[derive(Default)]
struct Seen {
    doubts: Vec<String>,
    /// Why a node cannot be asked any more: what follows is not begun.
    lost: Option<String>,
}

/// Figures of each test's near end, and of its far end.
type BothEnds = (Vec<RdmaFigures>, Vec<RdmaFigures>);

impl<'a> RdmaBenchRun<'a> {
    pub(super) fn new(
        fleet: &'a Fleet,
        hosts: [String; 2],
        options: &'a BenchOptions,
        recorder: &'a CounterRecorder<'a>,
        facts: [&'a Facts; 2],
    ) -> Self {
        Self {
            fleet,
            hosts,
            options,
            recorder,
            facts,
            seen: RefCell::default(),
        }
    }

    pub(super) fn rail(&self, rail: &Rail) -> RailResult {
        let name = &rail.near.device;
        let rails = std::slice::from_ref(rail);
        RailResult {
            devices: [rail.near.device.clone(), rail.far.device.clone()],
            bandwidth: self.bandwidth(name, rails),
            bidirectional: self.bidirectional(name, rails),
            sweep: self.options.sweep.then(|| {
                each_way(|way| {
                    let name = format!("{name} {} size by size", way.arrow());
                    let test = requests::sweep(self.options, rail, way);
                    let (figures, _) = self.measure(&name, &[test])?;
                    bandwidths(&figures[0])
                })
            }),
            latency: BenchLatencies {
                write_with_immediate: self.latency(rail, LatencyOperation::WriteWithImmediate),
                send: self.latency(rail, LatencyOperation::Send),
            },
            data: self.data(name, rails),
        }
    }

    /// All rails at once.
    pub(super) fn all(&self, rails: &[Rail]) -> AllRailsResult {
        let name = "all rails";
        AllRailsResult {
            bandwidth: self.bandwidth(name, rails),
            bidirectional: self.bidirectional(name, rails),
            data: self.data(name, rails),
        }
    }

    /// What made the figures doubtful, each once.
    pub(super) fn doubts(self) -> Vec<String> {
        self.seen.into_inner().doubts
    }

    fn bandwidth(&self, name: &str, rails: &[Rail]) -> BothDirections<BenchBandwidth> {
        each_way(|way| {
            let tests = of_rails(rails, |rail| requests::bandwidth(self.options, rail, way));
            let (figures, _) = self.measure(&format!("{name} {}", way.arrow()), &tests)?;
            sum(&figures)
        })
    }

    fn bidirectional(
        &self,
        name: &str,
        rails: &[Rail],
    ) -> Option<MeasuredValue<BidirectionalBandwidth>> {
        self.options.bidirectional.then(|| {
            let way = SendDirection::Both;
            let tests = of_rails(rails, |rail| requests::bandwidth(self.options, rail, way));
            let figures = self.measure(&format!("{name} {}", way.arrow()), &tests);
            cell(figures.and_then(|(there, back)| bidirectional(&there, &back)))
        })
    }

    fn data(&self, name: &str, rails: &[Rail]) -> Option<BothDirections<Vec<VerifiedData>>> {
        self.options.verify_data.then(|| {
            each_way(|way| {
                let tests = of_rails(rails, |rail| requests::verify(self.options, rail, way));
                let name = format!("{name} {} every byte", way.arrow());
                let (figures, _) = self.measure(&name, &tests)?;
                verified(&figures)
            })
        })
    }

    fn latency(&self, rail: &Rail, message: LatencyOperation) -> MeasuredValue<BenchLatency> {
        let kind = match message {
            LatencyOperation::WriteWithImmediate => "write",
            LatencyOperation::Send => "send",
        };
        let name = format!("{} {kind} latency", rail.near.device);
        let test = requests::latency(self.options, rail, message);
        let figures = self.measure(&name, &[test]);
        cell(figures.and_then(|(figures, _)| percentiles(&figures[0])))
    }

    /// As many figures of each end as there are tests, or the first error.
    fn measure(&self, name: &str, tests: &[PairTest]) -> Result<BothEnds, String> {
        if let Some(why) = &self.seen.borrow().lost {
            return Err(why.clone());
        }
        let within = longest::<RdmaTestEngine>(tests);
        let observer = &self.fleet.options().observer;
        observer.observe(ControlEvent::TestBegan { name, within });
        let work = || measure::<RdmaTestEngine>(self.fleet, tests);
        let results = self
            .recorder
            .around(name, work, |results| self.moved(tests, results));
        let mut all = (Vec::new(), Vec::new());
        for (test, result) in tests.iter().zip(results) {
            match result {
                Ok(PairTestResult { near, far }) => {
                    self.note(test.near.node, &near);
                    self.note(test.far.node, &far);
                    all.0.push(near.figures);
                    all.1.push(far.figures);
                }
                Err(error) => {
                    let text = error.to_string();
                    let mut seen = self.seen.borrow_mut();
                    seen.lost = error.is_lost().then(|| text.clone());
                    return Err(text);
                }
            }
        }
        Ok(all)
    }

    /// What went over which ports, where it can be told to 2 %: one size, and not so short that answers outweigh it.
    fn moved(
        &self,
        tests: &[PairTest],
        results: &Vec<Result<PairTestResult, MeasureError>>,
    ) -> Vec<MovedTraffic> {
        let mut all = Vec::new();
        for (test, result) in tests.iter().zip(results) {
            let Ok(measured) = result else { continue };
            let ends = [
                (&test.near, &test.far, &measured.near),
                (&test.far, &test.near, &measured.far),
            ];
            for (initiator, other, result) in ends {
                let RdmaFigures::Bandwidth(figures) = &result.figures else {
                    continue;
                };
                let [one] = &figures[..] else { continue };
                if one.size < SHORTEST_COMPARED {
                    continue;
                }
                // Who reads does not send.
                let (sender, receiver) = match initiator.request.test {
                    RdmaTest::Bandwidth {
                        transfer: BandwidthOperation::Read,
                    } => (other, initiator),
                    _ => (initiator, other),
                };
                let place = |end: &TestEnd| {
                    let request = &end.request;
                    let place = self
                        .recorder
                        .place(end.node, &request.device, request.port)?;
                    Some((end.node, place))
                };
                let (Some(sender), Some(receiver)) = (place(sender), place(receiver)) else {
                    continue;
                };
                all.push(MovedTraffic {
                    sender,
                    receiver,
                    traffic: vec![self.traffic(initiator, other, one)],
                });
            }
        }
        all
    }

    fn traffic(
        &self,
        one: &TestEnd,
        other: &TestEnd,
        figures: &crosstie_rdma::MeasuredBandwidth,
    ) -> PayloadTraffic {
        let mtus = [one, other].map(|end| end.request.interface_mtu.and_then(roce_path_mtu));
        let is_software = [one, other].iter().any(|end| {
            let mut devices = self.facts[end.node].rdma.iter();
            devices.any(|device| device.name == end.request.device && device.software)
        });
        PayloadTraffic {
            carrier: TrafficCarrier::Rdma {
                message: figures.size,
                // InfiniBand's largest where there is no interface to tell.
                path_mtu: mtus.into_iter().flatten().min().map_or(4096, |mtu| mtu.0),
                is_software,
            },
            payload: figures.whole_bytes,
            is_ipv6: one.request.address.is_some_and(|address| address.is_ipv6()),
        }
    }

    fn note(&self, node: usize, end: &TestEndResult) {
        let mut seen = self.seen.borrow_mut();
        for doubt in of_conditions(&self.hosts[node], &end.conditions) {
            if !seen.doubts.contains(&doubt) {
                seen.doubts.push(doubt);
            }
        }
    }
}

fn of_rails(rails: &[Rail], test: impl Fn(&Rail) -> PairTest) -> Vec<PairTest> {
    rails.iter().map(test).collect()
}

fn each_way<T>(one: impl Fn(SendDirection) -> Result<T, String>) -> BothDirections<T> {
    BothDirections {
        there: cell(one(SendDirection::There)),
        back: cell(one(SendDirection::Back)),
    }
}
