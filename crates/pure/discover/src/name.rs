//! Host names that strangers give.

use std::fmt;

use crate::dns::DnsName;

/// A name of multicast DNS that may be shown, and pasted into a command: `spark-b.local`.
///
/// One label of letters, digits and inner dashes, with a letter in it: neither an option, nor an address, nor anything that
/// a shell would read as more than a word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MdnsHostName(String);

impl MdnsHostName {
    pub fn new(name: &DnsName) -> Option<Self> {
        let [label, domain] = name.labels() else {
            return None;
        };
        let inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let plain = label.iter().all(inner)
            && label.iter().any(u8::is_ascii_alphabetic)
            && edge(label.first())
            && edge(label.last());
        if !plain || domain != b"local" {
            return None;
        }
        let label = std::str::from_utf8(label).ok()?;
        Some(Self(format!("{label}.local")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MdnsHostName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_names() {
        let name = |text: &str| MdnsHostName::new(&DnsName::of(text)).map(|name| name.to_string());
        assert_eq!(name("Spark-B.local").as_deref(), Some("spark-b.local"));
        for odd in [
            "-oproxycommand=x.local",
            "-v.local",
            "v-.local",
            "192.0.2.7",
            "192.0.2.7.local",
            "7.local",
            "a b.local",
            "a$(b).local",
            "a;b.local",
            "spark-b",
            "spark-b.example",
            ".local",
            "é.local",
            "a\u{1b}[2j.local",
            "a@b.local",
            "a%b.local",
        ] {
            assert_eq!(name(odd), None, "{odd}");
        }
    }
}
