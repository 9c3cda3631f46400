use crosstie_model::plan::Sysctl;

use super::{ApplyStep, NodeRuntime};
use crate::error::StepError;

const SYSCTLS: &str = "proc/sys";

impl ApplyStep for Sysctl {
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        let path = path(&self.name).ok_or_else(|| StepError::NotSysctl {
            name: self.name.clone(),
        })?;
        node.write(&path, &self.value.to)
    }
}

/// `net.ipv4.conf.eth0/1.arp_ignore` is `net/ipv4/conf/eth0.1/arp_ignore`.
fn path(name: &str) -> Option<String> {
    let swapped = name.chars().map(|letter| match letter {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    let swapped: String = swapped.collect();
    let mut parts = swapped.split('/');
    let is_plain = parts.all(|part| !matches!(part, "" | "." | ".."));
    is_plain.then(|| format!("{SYSCTLS}/{swapped}"))
}
