//! Counts of values in buckets whose width grows with the value, so that a percentile is exact to 1 part in 128 from
//! nanoseconds to hours.

use serde::{Deserialize, Serialize};

/// Buckets of an octave, as a power of two. Below 2^this each value has its own.
const PRECISION: u32 = 7;
const BUCKETS: usize = ((64 - PRECISION as usize) + 1) << PRECISION;

/// Of nanoseconds, or of anything else that is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Sparse", into = "Sparse")]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    least: u64,
    most: u64,
    sum: u128,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: vec![0; BUCKETS],
            count: 0,
            least: u64::MAX,
            most: 0,
            sum: 0,
        }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.buckets[bucket_of(value)] += 1;
        self.count += 1;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        self.sum += u128::from(value);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact, as are the most and the mean.
    pub fn least(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    pub fn most(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most)
    }

    pub fn mean(&self) -> Option<u64> {
        let mean = self.sum.checked_div(u128::from(self.count))?;
        u64::try_from(mean).ok()
    }

    /// The value below or at which so many of 100,000 lie: 50,000 is the median, 99,900 the 99.9th percentile.
    pub fn percentile(&self, of_100_000: u32) -> Option<u64> {
        let wanted = u128::from(self.count) * u128::from(of_100_000.min(100_000));
        let rank = wanted.div_ceil(100_000).max(1);
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|&count| {
            seen += u128::from(count);
            seen >= rank
        })?;
        Some(highest_of(bucket).clamp(self.least, self.most))
    }
}

fn bucket_of(value: u64) -> usize {
    let octave = (u64::BITS - value.leading_zeros()).saturating_sub(PRECISION + 1);
    // The leading bits: below 2^(PRECISION + 1), so that it fits.
    let leading = usize::try_from(value >> octave).unwrap_or(0);
    ((octave as usize) << PRECISION) + leading
}

fn highest_of(bucket: usize) -> u64 {
    let octave = (bucket >> PRECISION).saturating_sub(1);
    let leading = (bucket - (octave << PRECISION)) as u64;
    ((leading + 1) << octave).wrapping_sub(1)
}

/// As it travels: most buckets are empty.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sparse {
    /// A bucket's number and count.
    buckets: Vec<(u32, u64)>,
    least: u64,
    most: u64,
    sum: u128,
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Self {
        let counts = (0..).zip(histogram.buckets).filter(|(_, count)| *count > 0);
        Self {
            buckets: counts.collect(),
            least: histogram.least,
            most: histogram.most,
            sum: histogram.sum,
        }
    }
}

impl TryFrom<Sparse> for Histogram {
    type Error = &'static str;

    fn try_from(sparse: Sparse) -> Result<Self, Self::Error> {
        let mut histogram = Self {
            least: sparse.least,
            most: sparse.most,
            sum: sparse.sum,
            ..Self::default()
        };
        for (bucket, count) in sparse.buckets {
            let place = histogram.buckets.get_mut(bucket as usize);
            *place.ok_or("no such bucket")? += count;
            histogram.count = histogram
                .count
                .checked_add(count)
                .ok_or("too many values")?;
        }
        // Percentiles are clamped to these.
        if histogram.count > 0 && histogram.least > histogram.most {
            return Err("the least value is more than the most");
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_its_bucket_to_within_its_precision() {
        let mut values: Vec<u64> = (0..2000).collect();
        values.extend((0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1, (1 << bit) + 1]));
        values.push(u64::MAX);
        for value in values {
            let highest = highest_of(bucket_of(value));
            assert!(highest >= value, "{value}");
            assert!(highest - value <= value >> PRECISION, "{value}: {highest}");
            assert!(bucket_of(value) < BUCKETS, "{value}");
        }
    }

    #[test]
    fn percentiles_of_known_values() {
        let mut histogram = Histogram::default();
        assert_eq!(
            (histogram.percentile(50_000), histogram.mean()),
            (None, None)
        );
        for value in 1..=100 {
            histogram.record(value);
        }
        assert_eq!(histogram.percentile(50_000), Some(50));
        assert_eq!(histogram.percentile(99_000), Some(99));
        assert_eq!(histogram.percentile(99_900), Some(100));
        assert_eq!((histogram.least(), histogram.most()), (Some(1), Some(100)));
        assert_eq!((histogram.mean(), histogram.count()), (Some(50), 100));
        histogram.record(1_000_000);
        assert_eq!(
            histogram.percentile(100_000),
            Some(1_000_000),
            "never above the most"
        );
    }
}
