//! What came of looking at one fact.

use serde::{Deserialize, Serialize};

/// A fact that was looked for on a node. A gap is never a fault of the hardware: it says why it is a gap.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading<T> {
    Value(T),
    /// Nothing there: the driver, the kernel or the capture does not offer it.
    #[default]
    Absent,
    /// It is there, and this user may not read it.
    Denied,
    /// It is there and is not what it should be; a short, printable excerpt of what was found.
    Malformed(String),
}

impl<T> Reading<T> {
    /// Longest excerpt of foreign text that a malformed reading keeps.
    const MAX_EXCERPT_CHARACTERS: usize = 80;

    pub fn malformed(found: &str) -> Self {
        let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        Self::Malformed(
            found
                .chars()
                .take(Self::MAX_EXCERPT_CHARACTERS)
                .map(printable)
                .collect(),
        )
    }

    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    pub fn into_known(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_ref(&self) -> Reading<&T> {
        match self {
            Self::Value(value) => Reading::Value(value),
            Self::Absent => Reading::Absent,
            Self::Denied => Reading::Denied,
            Self::Malformed(found) => Reading::Malformed(found.clone()),
        }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Reading<U> {
        self.and_then(|value| Reading::Value(f(value)))
    }

    pub fn and_then<U>(self, f: impl FnOnce(T) -> Reading<U>) -> Reading<U> {
        match self {
            Self::Value(value) => f(value),
            Self::Absent => Reading::Absent,
            Self::Denied => Reading::Denied,
            Self::Malformed(found) => Reading::Malformed(found),
        }
    }

    /// The first of two places that may hold the fact; a gap in the first keeps its reason if both are gaps.
    #[must_use]
    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Value(_) => self,
            gap => match other() {
                Self::Absent => gap,
                found => found,
            },
        }
    }
}

impl<T> From<Option<T>> for Reading<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Self::Value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_keeps_its_reason_when_the_other_place_has_nothing() {
        let denied: Reading<u8> = Reading::Denied;
        assert_eq!(denied.clone().or_else(|| Reading::Absent), Reading::Denied);
        assert_eq!(denied.or_else(|| Reading::Value(3)), Reading::Value(3));
    }

    #[test]
    fn malformed_excerpts_are_short_and_printable() {
        let Reading::Malformed(found) = Reading::<u8>::malformed(&"\u{1b}[2J".repeat(100)) else {
            unreachable!()
        };
        assert_eq!(found.chars().count(), 80);
        assert!(!found.contains('\u{1b}'));
    }
}
