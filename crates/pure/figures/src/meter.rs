//! Counting what completes within the time that is measured, and in which part of it.

use crate::bandwidth::MeasuredBandwidth;

/// A dip shorter than this does not show.
pub const WINDOW_NANOSECONDS: u64 = 100_000_000;

/// Takes the time as an argument. What is seen at a moment completed since the one before, evenly: so every meter of a run
/// counts the same span and the same windows of it, however late its thread looks.
#[derive(Debug)]
pub struct BandwidthMeter {
    begin: u64,
    end: u64,
    /// When it was last told, and how much had completed by then.
    latest: u64,
    total: u64,
    /// What had completed when each window began; the next one's is behind the last one's end.
    boundaries: Vec<u64>,
    at_end: Option<u64>,
    /// When the counting thread's own time was first asked for, and what it was.
    processor_since: (u64, u64),
    /// Of the span that is measured, once that is over.
    processor: u64,
}

impl BandwidthMeter {
    /// Of a test that starts at `started`: counts from `begin` to `end`. `processor` is the counting thread's own time.
    pub fn new(started: u64, begin: u64, end: u64, processor: u64) -> Self {
        Self {
            begin,
            end,
            latest: started,
            total: 0,
            boundaries: Vec::new(),
            at_end: None,
            processor_since: (started, processor),
            processor: 0,
        }
    }

    /// So many bytes have completed since it was last told. The processor's time is asked for at the beginning and at
    /// the end alone.
    #[inline]
    pub fn add(&mut self, now: u64, bytes: u64, processor: impl FnOnce() -> u64) {
        if now >= self.next_boundary() {
            self.cross(now, bytes, processor);
        }
        (self.latest, self.total) = (now, self.total + bytes);
    }

    fn next_boundary(&self) -> u64 {
        if self.at_end.is_some() {
            return u64::MAX;
        }
        let next = self.begin + self.boundaries.len() as u64 * WINDOW_NANOSECONDS;
        next.min(self.end)
    }

    /// Windows have ended since it was last told.
    fn cross(&mut self, now: u64, bytes: u64, processor: impl FnOnce() -> u64) {
        let is_first = self.boundaries.is_empty();
        loop {
            let boundary = self.begin + self.boundaries.len() as u64 * WINDOW_NANOSECONDS;
            if boundary > now.min(self.end) {
                break;
            }
            self.boundaries.push(self.total_at(boundary, now, bytes));
        }
        if now >= self.end {
            self.at_end = Some(self.total_at(self.end, now, bytes));
            let (since, before) = self.processor_since;
            let used = processor().saturating_sub(before);
            self.processor = share(used, self.end - self.begin, now - since);
        } else if is_first {
            self.processor_since = (now, processor());
        }
    }

    /// What had completed at a moment since it was last told.
    fn total_at(&self, moment: u64, now: u64, bytes: u64) -> u64 {
        self.total + share(bytes, moment - self.latest, now - self.latest)
    }

    /// Whether all that is measured has been seen.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.at_end.is_some()
    }

    /// `size` is that of a message. One that takes longer than the whole time has its share in it, too.
    pub fn figures(
        self,
        size: u32,
        depth: u32,
        processor: impl FnOnce() -> u64,
    ) -> MeasuredBandwidth {
        let (bytes, nanoseconds, processor_nanoseconds) =
            match (self.boundaries.first(), self.at_end) {
                (Some(first), Some(last)) => (last - first, self.end - self.begin, self.processor),
                (Some(first), None) => {
                    let used = processor().saturating_sub(self.processor_since.1);
                    (self.total - first, self.latest - self.begin, used)
                }
                (None, _) => (0, 0, 0),
            };
        let windows = self.boundaries.windows(2).map(|both| both[1] - both[0]);
        MeasuredBandwidth {
            size,
            depth,
            bytes,
            whole_bytes: 0,
            messages: bytes / u64::from(size.max(1)),
            nanoseconds,
            windows: windows.collect(),
            window_nanoseconds: WINDOW_NANOSECONDS,
            processor_nanoseconds,
            complete: self.at_end.is_some(),
        }
    }
}

/// `part` of `whole`, of what came evenly in all of it.
fn share(all: u64, part: u64, whole: u64) -> u64 {
    if part >= whole {
        return all;
    }
    let share = u128::from(all) * u128::from(part) / u128::from(whole);
    // Less than all of it.
    u64::try_from(share).unwrap_or(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_completes_before_and_after_is_not_counted() {
        let mut meter = BandwidthMeter::new(0, 1000 * MS, 1300 * MS, 0);
        for step in 0..200 {
            meter.add(step * 10 * MS, 500, || step * 10 * MS);
        }
        assert!(meter.is_done());
        let figures = meter.figures(100, 1, || 0);
        assert_eq!((figures.messages, figures.nanoseconds), (150, 300 * MS));
        assert_eq!(figures.bytes, 15_000);
        assert_eq!(figures.windows, [5000, 5000, 5000]);
        assert!(figures.complete);
        assert_eq!(figures.processor_nanoseconds, 300 * MS);
    }

    #[test]
    fn a_dip_is_the_worst_window() {
        let mut meter = BandwidthMeter::new(0, 0, 500 * MS, 0);
        for step in 0..=100 {
            let stalls = (41..=60).contains(&step);
            meter.add(step * 5 * MS, u64::from(!stalls), || step * 5 * MS);
        }
        let figures = meter.figures(1, 1, || 240 * MS);
        assert_eq!(figures.worst_window(), Some(0));
        assert_eq!(figures.windows.len(), 5);
    }

    /// A busy machine: the thread sleeps over the beginning, or over the end.
    #[test]
    fn whoever_looks_late_counts_the_same_span() {
        let mut meter = BandwidthMeter::new(0, 100 * MS, 400 * MS, 0);
        for (now, messages) in [(50, 50), (250, 200), (350, 100), (1350, 1000)] {
            meter.add(now * MS, messages, || now * MS);
        }
        let figures = meter.figures(1, 1, || 0);
        assert_eq!((figures.messages, figures.nanoseconds), (300, 300 * MS));
        assert_eq!(figures.windows, [100, 100, 100]);
        assert_eq!(figures.processor_nanoseconds, 300 * MS);
        // Nothing came for a second: a low figure, and not one of the few moments in which something did.
        let mut meter = BandwidthMeter::new(0, 100 * MS, 400 * MS, 0);
        meter.add(90 * MS, 900, || 90 * MS);
        meter.add(1090 * MS, 100, || 1090 * MS);
        assert!(meter.is_done());
        let figures = meter.figures(1, 1, || 0);
        assert_eq!((figures.messages, figures.nanoseconds), (30, 300 * MS));
        assert_eq!(figures.windows, [10, 10, 10]);
        assert_eq!(figures.processor_nanoseconds, 300 * MS);
    }

    /// Long messages on a slow way.
    #[test]
    fn a_message_that_takes_longer_than_the_test_has_its_share() {
        let mut meter = BandwidthMeter::new(0, 100 * MS, 350 * MS, 0);
        meter.add(1000 * MS, 8000, || 0);
        let figures = meter.figures(8000, 2, || 0);
        assert_eq!((figures.bytes, figures.messages), (2000, 0));
        assert_eq!(figures.windows, [800, 800]);
    }

    #[test]
    fn one_that_is_stopped_early_says_so() {
        let mut meter = BandwidthMeter::new(0, 0, 500 * MS, 0);
        for step in 0..25 {
            meter.add(step * 10 * MS, 1, || step * 10 * MS);
        }
        let figures = meter.figures(1, 1, || 240 * MS);
        assert!(!figures.complete);
        assert_eq!(figures.processor_nanoseconds, 240 * MS);
        assert_eq!((figures.nanoseconds, figures.windows.len()), (240 * MS, 2));
        let figures = BandwidthMeter::new(5, 5, 10, 0).figures(1, 1, || 240 * MS);
        assert_eq!((figures.nanoseconds, figures.messages), (0, 0));
    }
}
