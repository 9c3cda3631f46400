//! What the kernel said.

use crate::ExaminedNode;

/// The driver that switches a Spark's card on and off with its cable.
pub(super) const HOTPLUG: &[&str] = &["cx7-pcie-hotplug", "cable"];

/// The last line of the kernel log that has all the words, in any case.
pub(super) fn last_line<'a>(node: &ExaminedNode<'a>, words: &[&str]) -> Option<&'a str> {
    let lines = node.facts.system.kernel_log.known()?;
    lines
        .iter()
        .rev()
        .map(|line| line.text.as_str())
        .find(|line| {
            let line = line.to_ascii_lowercase();
            words.iter().all(|word| line.contains(word))
        })
}
