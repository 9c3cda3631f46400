//! How much memory a login may lock, as `pam_limits` decides it.

use crosstie_model::facts::persistence::LimitsConfLine;

/// A limit in bytes; `None` is unlimited.
pub(super) type ByteLimit = Option<u64>;

/// What the lines give one kind of limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GivenLimit<'a> {
    pub limit: ByteLimit,
    pub line: &'a LimitsConfLine,
}

/// The soft and hard limits that every login gets. For `pam_limits` `*` is everyone but root, who needs lines of its
/// own; among lines for the same domain the last one counts.
///
/// Lines for a user or a group win over `*`, and whom they mean is not known here: see [`has_others`].
pub(super) fn given(
    lines: &[LimitsConfLine],
    root: bool,
) -> (Option<GivenLimit<'_>>, Option<GivenLimit<'_>>) {
    let domain = if root { "root" } else { "*" };
    let last = |kind: &str| {
        lines
            .iter()
            .filter(|line| line.item == "memlock" && line.domain == domain)
            .filter(|line| line.kind == kind || line.kind == "-")
            .filter_map(|line| {
                Some(GivenLimit {
                    limit: value(&line.value)?,
                    line,
                })
            })
            .next_back()
    };
    (last("soft"), last("hard"))
}

/// There are lines for users or groups, which may or may not mean this login.
pub(super) fn has_others(lines: &[LimitsConfLine]) -> bool {
    lines
        .iter()
        .any(|line| line.item == "memlock" && !matches!(line.domain.as_str(), "*" | "root"))
}

/// In KiB. `None` where it is no number.
fn value(text: &str) -> Option<ByteLimit> {
    match text {
        "unlimited" | "infinity" | "-1" => Some(None),
        number => Some(Some(number.parse::<u64>().ok()?.saturating_mul(1024))),
    }
}

/// The smaller of two limits.
pub(super) fn tighter(a: ByteLimit, b: ByteLimit) -> ByteLimit {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (limit, None) | (None, limit) => limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<LimitsConfLine> {
        text.lines()
            .map(|line| {
                let mut words = line.split_whitespace().map(str::to_owned);
                let mut next = || words.next().unwrap();
                LimitsConfLine {
                    file: "/etc/security/limits.conf".to_owned(),
                    domain: next(),
                    kind: next(),
                    item: next(),
                    value: next(),
                }
            })
            .collect()
    }

    fn soft(text: &str, root: bool) -> Option<ByteLimit> {
        given(&lines(text), root).0.map(|given| given.limit)
    }

    #[test]
    fn the_last_line_counts_and_values_are_kibibytes() {
        assert_eq!(soft("* soft memlock 64", false), Some(Some(65536)));
        let raised = "* soft memlock 64\n* - memlock unlimited";
        assert_eq!(soft(raised, false), Some(None));
        let lowered = "* - memlock infinity\n* soft memlock 64";
        assert_eq!(soft(lowered, false), Some(Some(65536)));
        assert_eq!(
            soft("* soft memlock -1\n* soft memlock much", false),
            Some(None)
        );
        assert_eq!(
            soft("* soft memlock 18446744073709551615", false),
            Some(Some(u64::MAX))
        );
    }

    #[test]
    fn root_needs_lines_of_its_own() {
        let text = "* - memlock unlimited\n@rdma - memlock 64";
        assert_eq!(soft(text, true), None);
        assert_eq!(soft("root soft memlock 64", true), Some(Some(65536)));
        assert_eq!(soft("root soft memlock 64", false), None);
        assert!(has_others(&lines(text)));
        assert!(!has_others(&lines("root - memlock 1\n* - memlock 1")));
    }

    #[test]
    fn the_tighter_limit_wins() {
        assert_eq!(tighter(None, Some(5)), Some(5));
        assert_eq!(tighter(Some(7), Some(5)), Some(5));
        assert_eq!(tighter(None, None), None);
    }
}
