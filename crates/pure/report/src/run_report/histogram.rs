//! The latencies of all paths as one distribution.

use std::collections::BTreeMap;

use crosstie_model::run::{StoredRun, TestConcurrency, TestKind};

use super::HistogramBucket;

/// A bucket's end is a constant multiple of its beginning: so many are a factor of ten.
const PER_DECADE: f64 = 24.0;

/// Buckets of a constant ratio, from the least message to the slowest; empty ones between them are in it.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // logarithms of at most 2^64 ns
pub(super) fn histogram(run: &StoredRun) -> Vec<HistogramBucket> {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    for one in &run.measurements {
        let undisturbed = matches!(one.phase, TestConcurrency::Solo | TestConcurrency::Round);
        let (TestKind::RdmaLatency, true, Some(figures)) = (one.kind, undisturbed, one.latency())
        else {
            continue;
        };
        for (nanoseconds, count) in &figures.histogram {
            let place = ((*nanoseconds).max(1) as f64).log10() * PER_DECADE;
            let counted = counts.entry(place.floor() as i32).or_default();
            *counted = counted.saturating_add(*count);
        }
    }
    let (Some(first), Some(last)) = (counts.keys().next(), counts.keys().last()) else {
        return Vec::new();
    };
    let all = counts
        .values()
        .fold(0_u64, |sum, count| sum.saturating_add(*count))
        .max(1);
    let edge = |place: i32| 10_f64.powf(f64::from(place) / PER_DECADE) / 1000.0;
    let buckets = (*first..=*last).map(|place| {
        let count = counts.get(&place).copied().unwrap_or(0);
        HistogramBucket {
            from_us: edge(place),
            to_us: edge(place + 1),
            count,
            percent: count as f64 / all as f64 * 100.0,
        }
    });
    buckets.collect()
}
