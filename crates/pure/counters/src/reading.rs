//! What was read of a port, at one moment.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// The port whose counters are wanted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterPort {
    /// An RDMA device and the number of its port.
    pub device: Option<(String, u32)>,
    pub interface: Option<String>,
}

/// Where a counter is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterGroup {
    /// `ports/N/hw_counters` of the RDMA device.
    Hardware,
    /// `ports/N/counters` of the RDMA device.
    Port,
    /// `statistics` of the interface.
    Interface,
    /// The driver's own, as `ethtool -S` shows them.
    Driver,
    /// The node's TCP, of all interfaces.
    Tcp,
}

impl CounterGroup {
    pub const ALL: [Self; 5] = [
        Self::Hardware,
        Self::Port,
        Self::Interface,
        Self::Driver,
        Self::Tcp,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hw_counters",
            Self::Port => "counters",
            Self::Interface => "statistics",
            Self::Driver => "ethtool",
            Self::Tcp => "tcp",
        }
    }
}

/// Travels and is printed as `group/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CounterName {
    pub group: CounterGroup,
    pub name: String,
}

impl CounterName {
    pub fn new(group: CounterGroup, name: impl Into<String>) -> Self {
        Self {
            group,
            name: name.into(),
        }
    }
}

impl fmt::Display for CounterName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.group.name(), self.name)
    }
}

impl From<CounterName> for String {
    fn from(counter: CounterName) -> Self {
        counter.to_string()
    }
}

impl TryFrom<String> for CounterName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (group, name) = text.split_once('/').ok_or("a counter without a group")?;
        let mut groups = CounterGroup::ALL.into_iter();
        let group = groups.find(|one| one.name() == group);
        Ok(Self::new(
            group.ok_or("an unknown group of counters")?,
            name,
        ))
    }
}

/// Everything that one port counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterReading {
    pub values: BTreeMap<CounterName, u64>,
}

impl CounterReading {
    pub fn get(&self, group: CounterGroup, name: &str) -> Option<u64> {
        self.values.get(&CounterName::new(group, name)).copied()
    }

    pub fn insert(&mut self, group: CounterGroup, name: impl Into<String>, value: u64) {
        self.values.insert(CounterName::new(group, name), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_travel_as_json() {
        let mut reading = CounterReading::default();
        for (number, group) in (0..).zip(CounterGroup::ALL) {
            reading.insert(group, "a/b c", number);
        }
        let text = serde_json::to_string(&reading).unwrap();
        assert!(text.contains("\"hw_counters/a/b c\":0"), "{text}");
        let back: CounterReading = serde_json::from_str(&text).unwrap();
        assert_eq!(back, reading);
        let strange = r#"{"values":{"elsewhere/x":1}}"#;
        assert!(serde_json::from_str::<CounterReading>(strange).is_err());
    }
}
