//! How far a node's clock is from ours, as far as that can be known from one exchange.

/// The node's clock less ours, in milliseconds: it is within these bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    pub least: i64,
    pub most: i64,
}

impl ClockOffset {
    /// From when we asked and had the answer, and what the node's clock showed in between, all in milliseconds since
    /// the epoch. The node tells whole seconds.
    pub fn between(asked: i64, answered: i64, shown: i64) -> Self {
        Self {
            least: shown - answered,
            most: shown + 999 - asked,
        }
    }

    /// How far two clocks are apart at least.
    pub fn apart(self, other: Self) -> i64 {
        (self.least - other.most)
            .max(other.least - self.most)
            .max(0)
    }
}

/// Milliseconds since the epoch of `2026-11-01T12:00:00Z`; whole seconds, UTC.
pub fn milliseconds(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let plausible = (1970..10_000).contains(&year) && (1..=12).contains(&month) && day <= 31;
    if !plausible || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days since the epoch, with years that begin in March (Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (shifted / 400, shifted % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
}

fn numbers(text: &str, divider: char) -> Option<[i64; 3]> {
    let mut parts = text.split(divider).map(|part| part.parse::<u32>().ok());
    let three = [
        parts.next()??.into(),
        parts.next()??.into(),
        parts.next()??.into(),
    ];
    parts.next().is_none().then_some(three)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_the_kernel_counts_them() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(
            milliseconds("2026-11-01T12:00:00Z"),
            Some(1_793_534_400_000)
        );
        assert_eq!(milliseconds("2000-02-29T23:59:59Z"), Some(951_868_799_000));
        for wrong in [
            "",
            "2026-11-01",
            "2026-13-01T00:00:00Z",
            "x-1-1T0:0:0Z",
            "2026-11-01T12:00:00",
        ] {
            assert_eq!(milliseconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn clocks_are_apart_only_where_the_bounds_leave_no_doubt() {
        let ours = ClockOffset::between(10_000, 12_000, 11_000);
        assert_eq!(ours.apart(ours), 0);
        let ahead = ClockOffset::between(10_000, 12_000, 20_000);
        // At most 1999 ms and at least 8000 ms ahead of us.
        assert_eq!(ours.apart(ahead), 8_000 - 1_999);
        assert_eq!(ahead.apart(ours), ours.apart(ahead));
    }
}
