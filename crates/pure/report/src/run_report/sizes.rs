//! Bandwidth over the size of messages.

use std::collections::BTreeMap;

use crosstie_model::run::{BandwidthFigures, MeasuredEnd, StoredRun, TestConcurrency};

use super::{MessageSizePoint, MessageSizeRow, MessageSizeSeries, build::middle};

type Path<'a> = (&'a MeasuredEnd, &'a MeasuredEnd);

/// Of each path and size the best number of queue pairs.
fn best(run: &StoredRun) -> BTreeMap<Path<'_>, BTreeMap<u64, f64>> {
    let mut best: BTreeMap<Path, BTreeMap<u64, f64>> = BTreeMap::new();
    for one in &run.measurements {
        let undisturbed = matches!(one.phase, TestConcurrency::Solo | TestConcurrency::Round);
        let rdma = one.kind.is_rdma() && one.kind.is_bandwidth();
        let figure = one.bandwidth().and_then(BandwidthFigures::gbps);
        let (true, true, Some(size), Some(gbps)) = (undisturbed, rdma, one.size, figure) else {
            continue;
        };
        let of_path = best.entry((&one.from, &one.to)).or_default();
        let known = of_path.entry(size).or_insert(gbps);
        *known = known.max(gbps);
    }
    best
}

pub(super) fn sizes(run: &StoredRun) -> Vec<MessageSizeRow> {
    let mut by_size: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (size, gbps) in best(run).into_values().flatten() {
        by_size.entry(size).or_default().push(gbps);
    }
    let rows = by_size.into_iter();
    let rows = rows.filter_map(|(size, values)| {
        let gbps = middle(&values)?;
        Some(MessageSizeRow { size, gbps })
    });
    rows.collect()
}

pub(super) fn series(run: &StoredRun) -> Vec<MessageSizeSeries> {
    let paths = best(run)
        .into_iter()
        .map(|((from, to), points)| MessageSizeSeries {
            from: from.host.clone(),
            to: to.host.clone(),
            rail: from.rail,
            points: points
                .into_iter()
                .map(|(size, gbps)| MessageSizePoint { size, gbps })
                .collect(),
        });
    paths.collect()
}
