//! Small messages that take too long.

use crosstie_model::{
    Severity,
    run::{TestConcurrency, TestKind},
};

use super::{FaultKind, MeasuredFault, part_names};
use crate::graded::GradedRun;

/// Nanoseconds, one way, over at most one switch.
const FAULT_ABOVE: u64 = 5_000;
const WARNING_ABOVE: u64 = 2_000;

pub(super) fn faults(graded: &GradedRun) -> Vec<MeasuredFault> {
    let cells = graded.cells.iter().map(|cell| cell.best);
    let latencies = cells.filter(|one| {
        one.kind == TestKind::RdmaLatency
            && matches!(one.phase, TestConcurrency::Solo | TestConcurrency::Round)
            && !graded.ports.is_software(&one.from, &one.to)
    });
    let high = latencies.filter_map(|one| {
        let figures = one.latency()?;
        let severity = match figures.p50 {
            p50 if p50 > FAULT_ABOVE => Severity::Fault,
            p50 if p50 > WARNING_ABOVE => Severity::Warning,
            _ => return None,
        };
        let subject = part_names::both_ways(&one.from, &one.to);
        let mut fault = MeasuredFault::new(FaultKind::LatencyHigh, severity, subject);
        fault.hosts = vec![one.from.host.clone(), one.to.host.clone()];
        fault.of(one);
        fault.saw("median", microseconds(figures.p50));
        fault.saw("99th percentile", microseconds(figures.p99));
        Some(fault)
    });
    high.collect()
}

fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:02} µs", nanoseconds / 1000, nanoseconds % 1000 / 10)
}
