//! How large a run may be. A file is untrusted: nothing in it decides how much memory is spent.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{
    Measurement, MeasurementFigures, MeasurementOutcome, RunEndReason, RunHeader, RunRecord,
};

/// Of a stored run. A full run of 256 nodes has about a third.
pub const MAX_FILE_BYTES: usize = 512 * 1024 * 1024;
/// The header of 4,096 nodes has about a half.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

const MAX_NODES: usize = 8192;
const MAX_PORTS: usize = 128;
const MAX_LIST: usize = 256;
const MAX_CABLES: usize = 65_536;
/// Half an hour of 100 ms.
const MAX_WINDOWS: usize = 18_000;
const MAX_BUCKETS: usize = 8192;
const MAX_COUNTERS: usize = 2048;
/// Characters of one text.
pub(super) const MAX_TEXT: usize = 4096;

/// More than a run may have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{found} {what}, and a run may have {most}")]
pub struct RunLimitError {
    pub what: &'static str,
    pub found: usize,
    pub most: usize,
}

pub(super) fn check(record: &RunRecord) -> Result<(), RunLimitError> {
    match record {
        RunRecord::Header(header) => of_header(header),
        RunRecord::Measurement(measurement) => of_measurement(measurement),
        RunRecord::Lost(lost) => text(&lost.host).and(text(&lost.why)),
        RunRecord::End(end) => match &end.reason {
            RunEndReason::Failed { error } => text(error),
            RunEndReason::Finished | RunEndReason::Interrupted => Ok(()),
        },
    }
}

fn of_header(header: &RunHeader) -> Result<(), RunLimitError> {
    within("nodes", header.nodes.len(), MAX_NODES)?;
    within("cables", header.cabling.len(), MAX_CABLES)?;
    let ports = header.groups.iter().map(Vec::len).sum();
    within("ports in groups", ports, MAX_NODES * MAX_PORTS)?;
    within("groups of ports", header.groups.len(), MAX_CABLES)?;
    within("message sizes", header.options.sizes.len(), MAX_LIST)?;
    let queue_pairs = header.options.queue_pairs.len();
    within("numbers of queue pairs", queue_pairs, MAX_LIST)?;
    for node in &header.nodes {
        text(&node.host)?;
        within("ports of a node", node.ports.len(), MAX_PORTS)?;
        within("GPUs of a node", node.gpus.len(), MAX_LIST)?;
        within("libraries of a node", node.nccl.len(), MAX_LIST)?;
        for port in &node.ports {
            within("PCIe links of a port", port.pcie.len(), MAX_LIST)?;
        }
    }
    Ok(())
}

fn of_measurement(measurement: &Measurement) -> Result<(), RunLimitError> {
    match &measurement.outcome {
        MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(figures)) => {
            within("windows", figures.windows.len(), MAX_WINDOWS)?;
        }
        MeasurementOutcome::Measured(MeasurementFigures::Latency(figures)) => {
            within("histogram buckets", figures.histogram.len(), MAX_BUCKETS)?;
        }
        MeasurementOutcome::Measured(MeasurementFigures::Reach(_)) => {}
        MeasurementOutcome::Failed { error } => text(error)?,
        MeasurementOutcome::NotApplicable { reason } => text(reason)?,
    }
    counters(&measurement.counters.from)?;
    counters(&measurement.counters.to)?;
    within("doubts", measurement.doubts.len(), MAX_LIST)?;
    measurement.doubts.iter().try_for_each(|doubt| text(doubt))
}

fn counters(counters: &BTreeMap<String, u64>) -> Result<(), RunLimitError> {
    within("counters of an end", counters.len(), MAX_COUNTERS)
}

fn text(text: &str) -> Result<(), RunLimitError> {
    // Bytes bound characters from above, and are quick to tell.
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    within("characters of a text", text.chars().count(), MAX_TEXT)
}

fn within(what: &'static str, found: usize, most: usize) -> Result<(), RunLimitError> {
    if found > most {
        return Err(RunLimitError { what, found, most });
    }
    Ok(())
}
