//! What is kept of commands' output: the second half of the allow-list.

mod firewall;
mod gpu;
mod shape;
mod tables;
mod text;

use super::{rules, secret};
use crate::raw::{Entry, Gap};

pub use gpu::to_xml as gpu_xml;

/// A command's output, by its name in a capture, and what to keep of it.
pub struct CommandRule {
    /// A star stands for an interface.
    pub name: &'static str,
    keep: fn(&str) -> Result<String, Gap>,
}

const fn rule(name: &'static str, keep: fn(&str) -> Result<String, Gap>) -> CommandRule {
    CommandRule { name, keep }
}

/// The whole list. The first that fits a name holds.
pub const COMMANDS: [CommandRule; 15] = [
    rule("ip-addr.json", tables::addresses),
    rule("ip-route.json", tables::routes),
    rule("ip-rule.json", tables::rules),
    rule("ip-neigh.json", tables::neighbours),
    rule("rdma-resource.json", tables::queue_pairs),
    rule("dmesg.txt", text::kernel_log),
    rule("timedatectl.txt", text::clock),
    rule("environment.txt", text::environment),
    rule("nft.json", firewall::reduce),
    rule("nvidia-smi.xml", gpu::reduce),
    rule("ethtool-S-*.txt", text::driver_counters),
    rule("ethtool-fec-*.txt", text::link_settings),
    rule("ethtool-pause-*.txt", text::link_settings),
    rule("ethtool-*.txt", text::link_settings),
    rule("dcb-*.json", tables::priorities),
];

/// That root was asked for, and why it was refused: a gap, never an output.
const ROOT: &str = "sudo";

/// What a capture keeps of a command's output; `None` if it has no such command. Cutting down twice changes nothing.
pub fn command(name: &str, output: &Entry) -> Option<Entry> {
    let rule = COMMANDS.iter().find(|rule| rule.is_for(name));
    match (rule, output) {
        (Some(rule), Entry::File(output)) => {
            let kept = (rule.keep)(&rules::text(output)).map(|text| {
                // A document is guarded value by value: without one of its lines it would be none.
                let is_lines = rule.name.ends_with(".txt");
                if is_lines {
                    secret::without_secrets(&text).into_owned()
                } else {
                    text
                }
            });
            Some(kept.map_or_else(Entry::Gap, |text| Entry::File(text.into_bytes())))
        }
        (rule, Entry::Gap(gap)) if rule.is_some() || name == ROOT => {
            Some(Entry::Gap(secret::guarded_gap(gap.clone())))
        }
        _ => None,
    }
}

impl CommandRule {
    fn is_for(&self, name: &str) -> bool {
        let Some((start, end)) = self.name.split_once('*') else {
            return self.name == name;
        };
        let interface = name
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end));
        interface.is_some_and(is_interface)
    }
}

/// As the kernel allows (`dev_valid_name` in net/core/dev.c), and no token.
fn is_interface(name: &str) -> bool {
    const LONGEST: usize = 15;
    let plain = |letter: char| !letter.is_whitespace() && !letter.is_control() && letter != '/';
    !name.is_empty()
        && name.len() <= LONGEST
        && name.chars().all(plain)
        && !secret::holds_token(name)
}

/// A listed command that printed something else than it should.
fn refused(what: &str) -> Gap {
    Gap::Failed(format!("{what} printed something else than it should"))
}
