//! Counts into figures for people.

use crosstie_rdma::Figures;
use crosstie_report::bench::{Bandwidth, Cell, Latency};

pub(super) fn one(figures: Vec<Result<Figures, String>>) -> Result<Figures, String> {
    let missing = || Err("it was not begun".to_owned());
    figures.into_iter().next().unwrap_or_else(missing)
}

pub(super) fn cell<T>(result: Result<T, String>) -> Cell<T> {
    result.map_or_else(Cell::NotMeasured, Cell::Measured)
}

/// Rails add up; each counts its own time.
#[allow(clippy::cast_precision_loss)] // figures for people
pub(super) fn sum(all: &[Figures]) -> Bandwidth {
    let mut sum = Bandwidth {
        gbps: 0.0,
        worst_gbps: Some(0.0),
        messages_per_second: 0.0,
        bytes: 0,
        nanoseconds: 0,
        processor_nanoseconds: 0,
    };
    for figures in all {
        let Figures::Bandwidth(one) = figures else {
            continue;
        };
        let time = one.nanoseconds.max(1) as f64;
        sum.gbps += one.bytes as f64 * 8.0 / time;
        sum.messages_per_second += one.messages as f64 * 1e9 / time;
        sum.bytes += one.bytes;
        sum.nanoseconds = sum.nanoseconds.max(one.nanoseconds);
        sum.processor_nanoseconds += one.processor_nanoseconds;
        let window = one.window_nanoseconds.max(1) as f64;
        let worst = one.worst_window().map(|bytes| bytes as f64 * 8.0 / window);
        sum.worst_gbps = sum.worst_gbps.zip(worst).map(|(sum, one)| sum + one);
    }
    sum
}

pub(super) fn percentiles(figures: &Figures) -> Result<Latency, String> {
    let Figures::Latency(latency) = figures else {
        return Err("the engine measured something else".to_owned());
    };
    let times = &latency.half_round_trips;
    let at = |of_100_000| times.percentile(of_100_000);
    let found = (|| {
        Some(Latency {
            least_ns: times.least()?,
            p50_ns: at(50_000)?,
            p99_ns: at(99_000)?,
            p999_ns: at(99_900)?,
            most_ns: times.most()?,
            count: times.count(),
        })
    })();
    found.ok_or_else(|| "no message came back in time".to_owned())
}
