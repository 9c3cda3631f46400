//! Counting what completes within the time that is measured, and in which part of it.

use crate::bandwidth::Bandwidth;

/// A dip shorter than this does not show.
pub const WINDOW_NANOSECONDS: u64 = 100_000_000;

/// Takes the time as an argument. What is seen at a moment completed since the one before.
#[derive(Debug)]
pub struct Meter {
    begin: u64,
    end: u64,
    /// When the first and the last completions that bound the measurement were seen.
    started: Option<u64>,
    ended: Option<u64>,
    latest: u64,
    messages: u64,
    windows: Vec<u64>,
    /// The counting thread's own time when it started, and then what it has used since.
    processor: u64,
}

impl Meter {
    /// Counts from `begin` to `end`.
    pub fn new(begin: u64, end: u64) -> Self {
        let windows = usize::try_from((end - begin) / WINDOW_NANOSECONDS).unwrap_or(0);
        Self {
            begin,
            end,
            started: None,
            ended: None,
            latest: begin,
            messages: 0,
            windows: vec![0; windows + 1],
            processor: 0,
        }
    }

    /// So many messages have completed since it was last told. The processor's time is asked for at the beginning and at
    /// the end alone.
    #[inline]
    pub fn add(&mut self, now: u64, messages: u64, processor: impl FnOnce() -> u64) {
        if now < self.begin || self.ended.is_some() {
            return;
        }
        let Some(started) = self.started else {
            // These completed partly before.
            self.started = Some(now);
            self.processor = processor();
            return;
        };
        self.latest = now;
        self.messages += messages;
        let window = usize::try_from((now - started) / WINDOW_NANOSECONDS).unwrap_or(usize::MAX);
        if let Some(count) = self.windows.get_mut(window) {
            *count += messages;
        }
        if now >= self.end {
            self.ended = Some(now);
            self.processor = processor() - self.processor;
        }
    }

    /// Whether all that is measured has been seen.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.ended.is_some()
    }

    pub fn figures(mut self, size: u32, depth: u32, processor: impl FnOnce() -> u64) -> Bandwidth {
        let processor_nanoseconds = match (self.started, self.ended) {
            (Some(_), None) => processor() - self.processor,
            _ => self.processor,
        };
        let bytes = |messages: u64| messages * u64::from(size);
        let elapsed = self.latest - self.started.unwrap_or(self.latest);
        // The last one is whole only if the time went on to its end.
        let whole = usize::try_from(elapsed / WINDOW_NANOSECONDS).unwrap_or(usize::MAX);
        self.windows.truncate(whole);
        Bandwidth {
            size,
            depth,
            bytes: bytes(self.messages),
            whole_bytes: 0,
            messages: self.messages,
            nanoseconds: elapsed,
            windows: self.windows.iter().map(|count| bytes(*count)).collect(),
            window_nanoseconds: WINDOW_NANOSECONDS,
            processor_nanoseconds,
            complete: self.ended.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_completes_before_and_after_is_not_counted() {
        let mut meter = Meter::new(1000 * MS, 1300 * MS);
        for step in 0..200 {
            meter.add(step * 10 * MS, 5, || step * 10 * MS);
        }
        assert!(meter.is_done());
        let figures = meter.figures(100, 1, || 0);
        // From 1000 ms, whose own completions came before it, to 1300 ms.
        assert_eq!((figures.messages, figures.nanoseconds), (150, 300 * MS));
        assert_eq!(figures.bytes, 15_000);
        assert_eq!(figures.windows, [4500, 5000, 5000]);
        assert!(figures.complete);
        assert_eq!(figures.processor_nanoseconds, 300 * MS);
    }

    #[test]
    fn a_dip_is_the_worst_window() {
        let mut meter = Meter::new(0, 500 * MS);
        for step in 0..=100 {
            let stalls = (40..60).contains(&step);
            meter.add(step * 5 * MS, u64::from(!stalls), || step * 5 * MS);
        }
        let figures = meter.figures(1, 1, || 240 * MS);
        assert_eq!(figures.worst_window(), Some(0));
        assert_eq!(figures.windows.len(), 5);
    }

    #[test]
    fn one_that_is_stopped_early_says_so() {
        let mut meter = Meter::new(0, 500 * MS);
        for step in 0..25 {
            meter.add(step * 10 * MS, 1, || step * 10 * MS);
        }
        let figures = meter.figures(1, 1, || 240 * MS);
        assert!(!figures.complete);
        assert_eq!(figures.processor_nanoseconds, 240 * MS);
        assert_eq!((figures.nanoseconds, figures.windows.len()), (240 * MS, 2));
        assert_eq!(Meter::new(5, 10).figures(1, 1, || 240 * MS).nanoseconds, 0);
    }
}
