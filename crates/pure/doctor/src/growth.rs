//! Counters that were read twice.

use crosstie_model::facts::NamedCounters;

/// How far a counter got since it was last read. Old errors are no alarm: only growth is.
///
/// Some drivers count in 32 bits and start again at zero; a counter that fell from its upper half has wrapped, any
/// other that fell was reset and says only what it holds now.
pub fn grown(before: u64, after: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    match after.checked_sub(before) {
        Some(growth) => growth,
        None if (WRAP / 2..WRAP).contains(&before) => after + (WRAP - before),
        None => after,
    }
}

/// The counters that grew, with how far, by name.
pub fn all_grown<'a>(
    before: &'a NamedCounters,
    after: &'a NamedCounters,
) -> impl Iterator<Item = (&'a str, u64)> {
    after.iter().filter_map(|(name, now)| {
        let growth = grown(*before.get(name)?, *now);
        (growth > 0).then_some((name.as_str(), growth))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrap_is_growth_and_a_reset_counts_from_zero() {
        assert_eq!(grown(5, 9), 4);
        assert_eq!(grown(u64::from(u32::MAX), 4), 5);
        assert_eq!(grown(1000, 3), 3);
        assert_eq!(grown(1 << 40, 3), 3);
        assert_eq!(grown(7, 7), 0);
    }
}
