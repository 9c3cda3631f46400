//! Bandwidth over the size of messages.

use std::collections::{BTreeMap, HashMap};

use crosstie_model::run::{BandwidthFigures, MeasuredEnd, Phase, Run};

use super::{SizeRow, build::middle};

pub(super) fn sizes(run: &Run) -> Vec<SizeRow> {
    let mut by_size: BTreeMap<u64, HashMap<(&MeasuredEnd, &MeasuredEnd), f64>> = BTreeMap::new();
    for one in &run.measurements {
        let undisturbed = matches!(one.phase, Phase::Solo | Phase::Round);
        let rdma = one.kind.is_rdma() && one.kind.is_bandwidth();
        let figure = one.bandwidth().and_then(BandwidthFigures::gbps);
        let (true, true, Some(size), Some(gbps)) = (undisturbed, rdma, one.size, figure) else {
            continue;
        };
        let best = by_size.entry(size).or_default();
        let best = best.entry((&one.from, &one.to)).or_insert(gbps);
        *best = best.max(gbps);
    }
    let rows = by_size.into_iter().filter_map(|(size, best)| {
        let values: Vec<f64> = best.into_values().collect();
        let gbps = middle(&values)?;
        Some(SizeRow { size, gbps })
    });
    rows.collect()
}
