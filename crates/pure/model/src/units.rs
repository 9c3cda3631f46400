//! Units as types, so that a bit is never taken for a byte. 1 Gb/s = 10⁹ bit/s.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Gigabits a second, decimal.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gbps(pub f64);

impl Gbps {
    /// One decimal: what a person compares; the full value stays in the field.
    pub fn rounded(self) -> f64 {
        (self.0 * 10.0).round() / 10.0
    }
}

impl fmt::Display for Gbps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Gb/s", self.rounded())
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    pub fn from_kib(kib: u64) -> Self {
        Self(kib.saturating_mul(1024))
    }
}

impl fmt::Display for Bytes {
    /// Binary prefixes, one decimal below 10: `512 B`, `3.9 GiB`, `120 GiB`.
    #[allow(clippy::cast_precision_loss)] // one decimal is shown
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIXES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut prefix = 0;
        while value >= 1024.0 && prefix + 1 < PREFIXES.len() {
            value /= 1024.0;
            prefix += 1;
        }
        let decimals = usize::from(prefix > 0 && value < 10.0);
        write!(f, "{value:.decimals$} {}", PREFIXES[prefix])
    }
}

/// A maximum transmission unit in bytes: of a netdev, or of an RDMA path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mtu(pub u32);

impl fmt::Display for Mtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_as_a_person_would_say_them() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes(4_187_593_114).to_string(), "3.9 GiB");
        assert_eq!(Bytes::from_kib(125_514_752).to_string(), "120 GiB");
        assert_eq!(Bytes(u64::MAX).to_string(), "16384 PiB");
    }
}
