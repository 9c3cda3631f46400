//! Labs in words, for a person.

use std::fmt::{self, Write};

use super::{Lab, LabListing, LabNodeState, names};
use crate::paths::LabPaths;

impl Lab {
    /// What `up` ends with.
    pub fn welcome(&self) -> String {
        let status = self.status();
        let description = &self.profile().description;
        let lab = &status.lab;
        let mut text = format!("lab {lab} ({description}) is up:\n");
        let options = self.options();
        for node in &status.nodes {
            let (name, state) = (&node.name, node.state);
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "  {name:16} {state:8} crosstie lab ssh {name}{options}"
            );
        }
        let ssh_config = self.ssh_config();
        text + &format!("ssh -F {} NODE works too\n", ssh_config.display())
    }

    /// What `crosstie lab` needs to find it: its name beside others, and its directory where that is no usual one.
    pub(super) fn options(&self) -> String {
        let name = if self.is_only() {
            String::new()
        } else {
            format!(" --name {}", self.name())
        };
        name + &self.option
    }

    /// Then commands find it without its name.
    fn is_only(&self) -> bool {
        let labs = self.directory.parent().map(LabPaths::new);
        labs.is_none_or(|labs| names(&labs).len() < 2)
    }
}

impl fmt::Display for LabListing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} ({})", self.lab, self.profile)?;
        let width = self.nodes.iter().map(|node| node.name.chars().count());
        let width = width.max().unwrap_or(0);
        for node in &self.nodes {
            let (name, state, port) = (&node.name, node.state, node.ssh_port);
            writeln!(formatter, "  {name:width$}  {state:8} ssh 127.0.0.1:{port}")?;
        }
        for fault in &self.faults {
            writeln!(formatter, "  fault at {fault}")?;
        }
        Ok(())
    }
}

impl fmt::Display for LabNodeState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Off => "off",
        })
    }
}
