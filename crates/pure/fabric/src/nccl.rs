//! How NCCL chooses among devices and interfaces by a list that a person wrote.

use std::borrow::Cow;

/// A value of `NCCL_IB_HCA` or `NCCL_SOCKET_IFNAME`, read as NCCL reads it (`parseStringList`, `matchIfList` in its
/// `misc/utils`): names are prefixes; a leading `=` makes them exact, a leading `^` (before it) excludes them; `:N`
/// after a name holds for that port alone. Spaces count as part of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NcclNameFilter<'a> {
    pub excludes: bool,
    pub exact: bool,
    pub entries: Vec<NcclNameFilterEntry<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NcclNameFilterEntry<'a> {
    pub name: &'a str,
    /// `None` is any port.
    pub port: Option<i64>,
}

impl<'a> NcclNameFilter<'a> {
    pub fn parse(value: &'a str) -> Self {
        let (excludes, value) = stripped(value, '^');
        let (exact, value) = stripped(value, '=');
        let entries = value.split(',').filter_map(|entry| {
            let (name, port) = match entry.split_once(':') {
                Some((name, port)) => (name, Some(leading_number(port))),
                None => (entry, None),
            };
            let port = port.filter(|port| *port != -1);
            (!name.is_empty()).then_some(NcclNameFilterEntry { name, port })
        });
        Self {
            excludes,
            exact,
            entries: entries.collect(),
        }
    }

    /// Whether NCCL takes this device (and port), or this interface (which has none).
    pub fn takes(&self, name: &str, port: Option<u32>) -> bool {
        let listed = self.entries.is_empty()
            || self.entries.iter().any(|entry| {
                let same_port = match (entry.port, port) {
                    (Some(wanted), Some(port)) => wanted == i64::from(port),
                    _ => true,
                };
                same_port && self.is_named(entry, name)
            });
        listed != self.excludes
    }

    fn is_named(&self, entry: &NcclNameFilterEntry, name: &str) -> bool {
        if self.exact {
            name == entry.name
        } else {
            name.starts_with(entry.name)
        }
    }
}

/// A value that takes exactly these names.
pub fn exactly<'a>(names: impl IntoIterator<Item = &'a str>) -> Cow<'static, str> {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        return Cow::Borrowed("");
    }
    Cow::Owned(format!("={}", names.join(",")))
}

/// An integer parameter, as C's `strtoll` with base 0 reads it; NCCL ignores an empty or broken one.
pub fn integer(value: &str) -> Option<i64> {
    let value = value.trim();
    let (negative, digits) = match value.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, value.strip_prefix('+').unwrap_or(value)),
    };
    let number = if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        i64::from_str_radix(hex, 16)
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(digits, 8)
    } else if digits.starts_with(|digit: char| digit.is_ascii_digit()) {
        digits.parse()
    } else {
        return None;
    };
    let number = number.ok()?;
    Some(if negative { -number } else { number })
}

fn stripped(value: &str, mark: char) -> (bool, &str) {
    match value.strip_prefix(mark) {
        Some(rest) => (true, rest),
        None => (false, value),
    }
}

/// As C's `atoi`: digits up to the first other character, 0 if there are none.
fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = text[sign..]
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len() - sign);
    text[..sign + digits].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_prefixes_unless_told_otherwise() {
        let takes = |value: &str, name: &str, port: u32| {
            NcclNameFilter::parse(value).takes(name, Some(port))
        };
        assert!(takes("mlx5_1", "mlx5_10", 1));
        assert!(!takes("=mlx5_1", "mlx5_10", 1));
        assert!(takes("=mlx5_0,mlx5_1", "mlx5_1", 1));
        assert!(!takes("^mlx5_1", "mlx5_10", 1));
        assert!(takes("^=mlx5_1", "mlx5_10", 1));
        assert!(!takes("^=mlx5_1", "mlx5_1", 1));
        // The marks have one order only.
        assert!(!takes("=^mlx5_1", "mlx5_0", 1));
    }

    #[test]
    fn ports_and_odd_lists_are_read_as_in_c() {
        let takes =
            |value: &str, port: u32| NcclNameFilter::parse(value).takes("mlx5_0", Some(port));
        assert!(takes("mlx5_0:2", 2) && !takes("mlx5_0:2", 1));
        assert!(takes("mlx5_0:-1", 1) && !takes("mlx5_0:x", 1));
        assert!(takes("", 1) && takes(",", 1) && takes(":1", 1));
        assert!(!takes("^", 1));
        assert!(takes("mlx4,mlx5_0:1:9", 1));
        assert!(!takes("mlx4, mlx5_0", 1), "a space is part of the name");
        assert!(NcclNameFilter::parse("eth0:7").takes("eth0", None));
    }

    #[test]
    fn integers_are_read_as_in_c() {
        assert_eq!(integer("106"), Some(106));
        assert_eq!(integer(" 0x6a "), Some(106));
        assert_eq!(integer("010"), Some(8));
        assert_eq!(integer("-1"), Some(-1));
        assert_eq!(integer("0"), Some(0));
        for broken in ["", "x", "-", "0x", "99999999999999999999"] {
            assert_eq!(integer(broken), None, "{broken}");
        }
    }
}
