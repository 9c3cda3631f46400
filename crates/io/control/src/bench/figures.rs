//! Counts into figures for people.

use crosstie_rdma::Figures;
use crosstie_report::bench::{Bandwidth, Bidirectional, Cell, Latency, Verified};

pub(super) fn cell<T>(result: Result<T, String>) -> Cell<T> {
    result.map_or_else(Cell::NotMeasured, Cell::Measured)
}

fn other_figures<T>() -> Result<T, String> {
    Err("the engine measured something else".to_owned())
}

/// One a size.
pub(super) fn bandwidths(figures: &Figures) -> Result<Vec<Bandwidth>, String> {
    let Figures::Bandwidth(all) = figures else {
        return other_figures();
    };
    Ok(all.iter().map(bandwidth).collect())
}

#[allow(clippy::cast_precision_loss)] // figures for people
fn bandwidth(one: &crosstie_rdma::Bandwidth) -> Bandwidth {
    let time = one.nanoseconds.max(1) as f64;
    let window = one.window_nanoseconds.max(1) as f64;
    Bandwidth {
        gbps: one.bytes as f64 * 8.0 / time,
        worst_gbps: one.worst_window().map(|bytes| bytes as f64 * 8.0 / window),
        messages_per_second: one.messages as f64 * 1e9 / time,
        size: one.size,
        depth: one.depth,
        bytes: one.bytes,
        nanoseconds: one.nanoseconds,
        processor_nanoseconds: one.processor_nanoseconds,
    }
}

/// Of tests of one size each. Rails add up; each counts its own time.
pub(super) fn sum(all: &[Figures]) -> Result<Bandwidth, String> {
    let mut sum: Option<Bandwidth> = None;
    for figures in all {
        for one in bandwidths(figures)? {
            let Some(sum) = &mut sum else {
                sum = Some(one);
                continue;
            };
            sum.gbps += one.gbps;
            sum.messages_per_second += one.messages_per_second;
            sum.size = sum.size.min(one.size);
            sum.depth = sum.depth.min(one.depth);
            sum.bytes += one.bytes;
            sum.nanoseconds = sum.nanoseconds.max(one.nanoseconds);
            sum.processor_nanoseconds += one.processor_nanoseconds;
            let worst = sum.worst_gbps.zip(one.worst_gbps);
            sum.worst_gbps = worst.map(|(sum, one)| sum + one);
        }
    }
    sum.ok_or_else(|| "nothing was measured".to_owned())
}

pub(super) fn bidirectional(there: &[Figures], back: &[Figures]) -> Result<Bidirectional, String> {
    let (there, back) = (sum(there)?, sum(back)?);
    Ok(Bidirectional {
        gbps: there.gbps + back.gbps,
        there,
        back,
    })
}

/// One a size; rails add up.
pub(super) fn verified(all: &[Figures]) -> Result<Vec<Verified>, String> {
    let mut sums: Vec<Verified> = Vec::new();
    for figures in all {
        let Figures::Verified(sizes) = figures else {
            return other_figures();
        };
        for one in sizes {
            match sums.iter_mut().find(|sum| sum.size == one.size) {
                Some(sum) => {
                    sum.messages += one.messages;
                    sum.bytes += one.bytes;
                    sum.wrong_bytes += one.wrong_bytes;
                }
                None => sums.push(Verified {
                    size: one.size,
                    messages: one.messages,
                    bytes: one.bytes,
                    wrong_bytes: one.wrong_bytes,
                }),
            }
        }
    }
    Ok(sums)
}

pub(super) fn percentiles(figures: &Figures) -> Result<Latency, String> {
    let Figures::Latency(latency) = figures else {
        return other_figures();
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
