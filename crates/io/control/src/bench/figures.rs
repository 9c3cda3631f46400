//! Counts into figures for people.

use crosstie_figures::Histogram;
use crosstie_rdma::RdmaFigures;
use crosstie_report::bench::{
    BenchBandwidth, BenchLatency, BidirectionalBandwidth, MeasuredValue, VerifiedData,
};

pub(super) fn cell<T>(result: Result<T, String>) -> MeasuredValue<T> {
    result.map_or_else(MeasuredValue::NotMeasured, MeasuredValue::Measured)
}

fn other_figures<T>() -> Result<T, String> {
    Err("the engine measured something else".to_owned())
}

/// One a size.
pub(super) fn bandwidths(figures: &RdmaFigures) -> Result<Vec<BenchBandwidth>, String> {
    let RdmaFigures::Bandwidth(all) = figures else {
        return other_figures();
    };
    Ok(all.iter().map(bandwidth).collect())
}

#[allow(clippy::cast_precision_loss)] // figures for people
fn bandwidth(one: &crosstie_rdma::MeasuredBandwidth) -> BenchBandwidth {
    let time = one.nanoseconds.max(1) as f64;
    let window = one.window_nanoseconds.max(1) as f64;
    BenchBandwidth {
        gbps: one.bytes as f64 * 8.0 / time,
        worst_gbps: one.worst_window().map(|bytes| bytes as f64 * 8.0 / window),
        messages_per_second: Some(one.bytes as f64 / f64::from(one.size.max(1)) * 1e9 / time),
        size: one.size,
        depth: one.depth,
        bytes: one.bytes,
        nanoseconds: one.nanoseconds,
        processor_nanoseconds: one.processor_nanoseconds,
        gbytes_per_processor_second: efficiency(one.bytes, one.processor_nanoseconds),
    }
}

/// Bytes a nanosecond are gigabytes a second.
#[allow(clippy::cast_precision_loss)] // figures for people
fn efficiency(bytes: u64, processor_nanoseconds: u64) -> Option<f64> {
    (processor_nanoseconds > 0).then(|| bytes as f64 / processor_nanoseconds as f64)
}

/// Of received bytes, in tests that ran beside each other, and what both ends used of their processors.
pub(super) fn received(
    all: impl IntoIterator<Item = (crosstie_figures::MeasuredBandwidth, u64)>,
) -> Result<BenchBandwidth, String> {
    let each = all.into_iter().map(|(mut one, sender)| {
        one.processor_nanoseconds += sender;
        BenchBandwidth {
            // A stream has none.
            messages_per_second: None,
            ..bandwidth(&one)
        }
    });
    add_up(each)
}

/// Of tests of one size each. Rails add up; each counts its own time.
pub(super) fn sum(all: &[RdmaFigures]) -> Result<BenchBandwidth, String> {
    let mut each = Vec::new();
    for figures in all {
        each.extend(bandwidths(figures)?);
    }
    add_up(each)
}

fn add_up(each: impl IntoIterator<Item = BenchBandwidth>) -> Result<BenchBandwidth, String> {
    let sum = each.into_iter().reduce(|mut sum, one| {
        sum.gbps += one.gbps;
        let rates = sum.messages_per_second.zip(one.messages_per_second);
        sum.messages_per_second = rates.map(|(sum, one)| sum + one);
        sum.size = sum.size.min(one.size);
        sum.depth = sum.depth.min(one.depth);
        sum.bytes += one.bytes;
        sum.nanoseconds = sum.nanoseconds.max(one.nanoseconds);
        sum.processor_nanoseconds += one.processor_nanoseconds;
        sum.gbytes_per_processor_second = efficiency(sum.bytes, sum.processor_nanoseconds);
        let worst = sum.worst_gbps.zip(one.worst_gbps);
        sum.worst_gbps = worst.map(|(sum, one)| sum + one);
        sum
    });
    sum.ok_or_else(|| "nothing was measured".to_owned())
}

pub(super) fn bidirectional(
    there: &[RdmaFigures],
    back: &[RdmaFigures],
) -> Result<BidirectionalBandwidth, String> {
    let (there, back) = (sum(there)?, sum(back)?);
    Ok(BidirectionalBandwidth {
        gbps: there.gbps + back.gbps,
        there,
        back,
    })
}

/// One a size; rails add up.
pub(super) fn verified(all: &[RdmaFigures]) -> Result<Vec<VerifiedData>, String> {
    let mut sums: Vec<VerifiedData> = Vec::new();
    for figures in all {
        let RdmaFigures::Verified(sizes) = figures else {
            return other_figures();
        };
        for one in sizes {
            match sums.iter_mut().find(|sum| sum.size == one.size) {
                Some(sum) => {
                    sum.messages += one.messages;
                    sum.bytes += one.bytes;
                    sum.wrong_bytes += one.wrong_bytes;
                }
                None => sums.push(VerifiedData {
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

pub(super) fn percentiles(figures: &RdmaFigures) -> Result<BenchLatency, String> {
    let RdmaFigures::Latency(latency) = figures else {
        return other_figures();
    };
    of_histogram(&latency.half_round_trips)
}

pub(super) fn of_histogram(times: &Histogram) -> Result<BenchLatency, String> {
    let at = |of_100_000| times.percentile(of_100_000);
    let found = (|| {
        Some(BenchLatency {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rail(bytes: u64, windows: Vec<u64>) -> RdmaFigures {
        RdmaFigures::Bandwidth(vec![crosstie_rdma::MeasuredBandwidth {
            size: 1000,
            depth: 8,
            bytes,
            whole_bytes: bytes,
            messages: bytes / 1000,
            nanoseconds: 1_000_000_000,
            windows,
            window_nanoseconds: 100_000_000,
            processor_nanoseconds: 5,
            complete: true,
        }])
    }

    #[test]
    fn rails_add_up() {
        let near = [
            rail(125_000_000, vec![1_250_000]),
            rail(250_000_000, vec![0, 9]),
        ];
        let sum = sum(&near).unwrap();
        assert!((sum.gbps - 3.0).abs() < 1e-9, "{sum:?}");
        assert!((sum.messages_per_second.unwrap() - 375_000.0).abs() < 1e-6);
        assert_eq!((sum.bytes, sum.nanoseconds), (375_000_000, 1_000_000_000));
        assert!(
            sum.worst_gbps
                .is_some_and(|worst| (worst - 0.1).abs() < 1e-9)
        );
        let both = bidirectional(&near[..1], &near[1..]).unwrap();
        assert!((both.gbps - 3.0).abs() < 1e-9 && both.there.gbps < both.back.gbps);
    }

    #[test]
    fn nothing_is_never_a_zero() {
        assert!(sum(&[]).is_err());
        assert!(sum(&[RdmaFigures::Responded]).is_err());
        assert!(verified(&[RdmaFigures::Responded]).is_err());
        assert!(percentiles(&RdmaFigures::Responded).is_err());
    }

    #[test]
    fn wrong_bytes_of_all_rails_are_counted_size_by_size() {
        let of_rail = |wrong_bytes| {
            let size = |size| crosstie_rdma::VerifiedMessages {
                size,
                messages: 2,
                bytes: 2 * u64::from(size),
                wrong_bytes,
            };
            RdmaFigures::Verified(vec![size(1), size(4099)])
        };
        let all = verified(&[of_rail(0), of_rail(3)]).unwrap();
        let wrong: Vec<(u32, u64)> = all.iter().map(|one| (one.size, one.wrong_bytes)).collect();
        assert_eq!(wrong, [(1, 3), (4099, 3)]);
        assert_eq!(all[1].bytes, 4 * 4099);
    }
}
