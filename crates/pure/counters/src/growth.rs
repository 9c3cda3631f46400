//! What happened to counters between two readings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::reading::{CounterGroup, CounterName, CounterReading};

/// Of every counter that was there before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterChanges {
    pub changes: BTreeMap<CounterName, CounterChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterChange {
    /// By so much; 0 for one that stands still.
    Grew(u64),
    /// It is not there any more, or began anew: a device or a driver went and came.
    Lost,
}

const WRAP: u64 = 1 << 32;

/// One that counts in 32 bits starts again behind the highest; a longer one that is lower than before was reset.
pub fn counter_changes(before: &CounterReading, after: &CounterReading) -> CounterChanges {
    let changes = before.values.iter().map(|(counter, before)| {
        let change = match after.values.get(counter) {
            Some(after) if after >= before => CounterChange::Grew(after - before),
            // Less than half the range in one run: more is a reset that left a low number.
            Some(after) if *before < WRAP && after + WRAP - before < WRAP / 2 => {
                CounterChange::Grew(after + WRAP - before)
            }
            Some(_) | None => CounterChange::Lost,
        };
        (counter.clone(), change)
    });
    CounterChanges {
        changes: changes.collect(),
    }
}

impl CounterChanges {
    /// `None` for one that is not there, or was lost.
    pub fn get(&self, group: CounterGroup, name: &str) -> Option<u64> {
        match self.changes.get(&CounterName::new(group, name)) {
            Some(CounterChange::Grew(by)) => Some(*by),
            Some(CounterChange::Lost) | None => None,
        }
    }

    /// Those that grew, with by how much.
    pub fn grown(&self) -> impl Iterator<Item = (&CounterName, u64)> {
        let changes = self.changes.iter();
        changes.filter_map(|(counter, change)| match change {
            CounterChange::Grew(by @ 1..) => Some((counter, *by)),
            _ => None,
        })
    }

    pub fn lost(&self) -> impl Iterator<Item = &CounterName> {
        let lost = |(_, change): &(_, &CounterChange)| **change == CounterChange::Lost;
        self.changes.iter().filter(lost).map(|(counter, _)| counter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reading(value: u64) -> CounterReading {
        let mut reading = CounterReading::default();
        reading.insert(CounterGroup::Port, "x", value);
        reading
    }

    #[test]
    fn wraps_resets_and_gaps_are_told_apart() {
        let cases = [
            (5, 9, CounterChange::Grew(4)),
            (5, 5, CounterChange::Grew(0)),
            (WRAP - 10, 20, CounterChange::Grew(30)),
            (WRAP + 10, 20, CounterChange::Lost),
            (1_000_000, 20, CounterChange::Lost),
        ];
        for (before, after, expected) in cases {
            let found = counter_changes(&reading(before), &reading(after));
            let change = found.changes.values().next();
            assert_eq!(change, Some(&expected), "{before} → {after}");
        }
        let gone = counter_changes(&reading(5), &CounterReading::default());
        assert_eq!(gone.lost().count(), 1);
        assert_eq!(gone.get(CounterGroup::Port, "x"), None);
        // One that came meanwhile says nothing.
        let came = counter_changes(&CounterReading::default(), &reading(5));
        assert_eq!(came, CounterChanges::default());
    }

    proptest! {
        #[test]
        fn a_counter_of_32_bits_loses_nothing(before in 0..WRAP, by in 0..WRAP / 2) {
            let found = counter_changes(&reading(before), &reading((before + by) % WRAP));
            prop_assert_eq!(found.get(CounterGroup::Port, "x"), Some(by));
        }

        #[test]
        fn nothing_panics(before: u64, after: u64) {
            let _ = counter_changes(&reading(before), &reading(after));
        }
    }
}
