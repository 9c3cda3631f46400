//! What the ends of a test are asked to do.

use crosstie_fabric::rails::{RailEnd, attached};
use crosstie_figures::TestTimes;
use crosstie_grade::proof::{PlannedTest, TestBatch};
use crosstie_model::{
    Facts,
    run::{MeasuredEnd, RdmaOperation, TestConcurrency, TestKind},
};
use crosstie_rdma::{
    BandwidthOperation, HostResourceShare, LatencyOperation, RdmaOpenRequest, RdmaRole, RdmaTest,
};
use crosstie_tcp as tcp;

use crate::measure::{
    PairTest, TestEnd,
    defaults::{
        DEFAULT_DEPTH, DEFAULT_PATH, LATENCY_SIZE, SILENCE_MILLISECONDS, SOFTWARE_PATH,
        TCP_LATENCY_SIZE,
    },
};

/// In milliseconds. Short tests warm up for less.
const WARM_UP: u32 = 500;
const COOL_DOWN: u32 = 200;
/// What several streams of TCP are.
pub(super) const TCP_STREAMS: u16 = 4;
const TCP_BLOCK: u32 = 1 << 20;

/// A pair of ends that cannot be found in the facts any more has none.
pub(super) fn rdma(
    facts: &[Facts],
    step: &TestBatch,
    test: PlannedTest,
    [from, to]: [&MeasuredEnd; 2],
) -> Option<PairTest<RdmaOpenRequest>> {
    let end = |end: &MeasuredEnd| {
        let (node, rail) = find(facts, end)?;
        let of_test = match step.kind {
            TestKind::RdmaBandwidth(operation) => RdmaTest::Bandwidth {
                transfer: transfer(operation),
            },
            _ => RdmaTest::Latency {
                message: LatencyOperation::WriteWithImmediate,
            },
        };
        let is_latency = matches!(of_test, RdmaTest::Latency { .. });
        let mut devices = facts[node].rdma.iter();
        let is_software = devices.any(|device| device.name == rail.device && device.software);
        let size = test.size.and_then(|size| u32::try_from(size).ok());
        let queue_pairs = test.queue_pairs.and_then(|count| u16::try_from(count).ok());
        Some(TestEnd {
            node,
            request: RdmaOpenRequest {
                device: rail.device,
                port: u8::try_from(rail.port).unwrap_or(u8::MAX),
                address: rail.address,
                interface_mtu: rail.mtu,
                role: RdmaRole::Initiator,
                test: of_test,
                queue_pairs: queue_pairs.unwrap_or(1),
                sizes: vec![size.unwrap_or(LATENCY_SIZE)],
                depth: if is_latency { 1 } else { DEFAULT_DEPTH },
                list: 1,
                signal_every: None,
                relaxed_ordering: false,
                path: if is_software {
                    SOFTWARE_PATH
                } else {
                    DEFAULT_PATH
                },
                times: times(step),
                share: HostResourceShare { index: 0, count: 1 },
            },
        })
    };
    Some(PairTest {
        near: end(from)?,
        far: end(to)?,
        // The campaign asks for either direction of such a pair as a test of its own.
        both_send: false,
    })
}

/// None either of ends without an address.
pub(super) fn tcp(
    facts: &[Facts],
    step: &TestBatch,
    [from, to]: [&MeasuredEnd; 2],
) -> Option<PairTest<tcp::TcpOpenRequest>> {
    let is_latency = step.kind == TestKind::TcpLatency;
    let end = |end: &MeasuredEnd| {
        let (node, _) = find(facts, end)?;
        Some(TestEnd {
            node,
            request: tcp::TcpOpenRequest {
                address: end.address?,
                interface: end.interface.clone(),
                role: tcp::TcpRole::Connector,
                test: if is_latency {
                    tcp::TcpTest::Latency
                } else {
                    tcp::TcpTest::Bandwidth {
                        direction: tcp::TcpDirection::ToListener,
                    }
                },
                streams: if is_latency { 1 } else { TCP_STREAMS },
                size: if is_latency {
                    TCP_LATENCY_SIZE
                } else {
                    TCP_BLOCK
                },
                times: times(step),
            },
        })
    };
    Some(PairTest {
        near: end(from)?,
        far: end(to)?,
        both_send: false,
    })
}

fn times(step: &TestBatch) -> TestTimes {
    // Of a soak, what lies between two steps is traffic that nobody measures.
    let ramp = |usual: u32| match step.phase {
        TestConcurrency::Soak => usual.min(100),
        _ => usual.min(step.milliseconds),
    };
    TestTimes {
        warm_up: ramp(WARM_UP),
        measure: step.milliseconds,
        cool_down: ramp(COOL_DOWN),
        silence: SILENCE_MILLISECONDS,
    }
}

fn transfer(operation: RdmaOperation) -> BandwidthOperation {
    match operation {
        RdmaOperation::Write => BandwidthOperation::Write,
        RdmaOperation::Read => BandwidthOperation::Read,
        RdmaOperation::Send => BandwidthOperation::Send,
    }
}

/// The node's place, and its port.
fn find(facts: &[Facts], end: &MeasuredEnd) -> Option<(usize, RailEnd)> {
    let node = facts.iter().position(|facts| facts.host.name == end.host)?;
    let mut ports = attached(&facts[node]).into_iter().map(|port| port.end);
    let own = ports.find(|port| {
        Some(&port.device) == end.device.as_ref()
            && port.interface == end.interface
            && port.address == end.address
    });
    Some((node, own?))
}
