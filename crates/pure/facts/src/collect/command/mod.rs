//! What is kept of commands' output: the second half of the allow-list.

mod firewall;
mod gpu;
mod shape;
mod tables;
mod text;

use super::{rules, secret};
use crate::raw::{CaptureEntry, ReadGap};

pub use gpu::to_xml as gpu_xml;
pub use text::cut_log;
pub(crate) use text::is_cut_log;

/// A command's output, by its name in a capture, and what to keep of it.
pub struct CommandCaptureRule {
    /// A star stands for an interface.
    pub name: &'static str,
    keep: Output,
}

enum Output {
    /// Lines, each of which may be left out.
    Lines(fn(&str) -> String),
    /// A document, which is none without one of its lines: what is kept of it is kept value by value.
    Document(fn(&str) -> Result<String, ReadGap>),
}

const fn lines(name: &'static str, keep: fn(&str) -> String) -> CommandCaptureRule {
    let keep = Output::Lines(keep);
    CommandCaptureRule { name, keep }
}

const fn document(
    name: &'static str,
    keep: fn(&str) -> Result<String, ReadGap>,
) -> CommandCaptureRule {
    let keep = Output::Document(keep);
    CommandCaptureRule { name, keep }
}

/// The whole list. The first that fits a name holds.
pub const COMMANDS: [CommandCaptureRule; 15] = [
    document("ip-addr.json", tables::addresses),
    document("ip-route.json", tables::routes),
    document("ip-rule.json", tables::rules),
    document("ip-neigh.json", tables::neighbours),
    document("rdma-resource.json", tables::queue_pairs),
    lines("dmesg.txt", text::kernel_log),
    lines("timedatectl.txt", text::clock),
    lines("environment.txt", text::environment),
    document("nft.json", firewall::reduce),
    document("nvidia-smi.xml", gpu::reduce),
    lines("ethtool-S-*.txt", text::driver_counters),
    lines("ethtool-fec-*.txt", text::link_settings),
    lines("ethtool-pause-*.txt", text::link_settings),
    lines("ethtool-*.txt", text::link_settings),
    document("dcb-*.json", tables::priorities),
];

/// What a capture keeps of a command's output; `None` if it has no such command. Cutting down twice changes nothing.
pub fn command(name: &str, output: &CaptureEntry) -> Option<CaptureEntry> {
    let rule = COMMANDS.iter().find(|rule| rule.is_for(name))?;
    match output {
        CaptureEntry::File(output) => {
            let text = rules::text(output);
            let kept = match rule.keep {
                Output::Lines(keep) => Ok(secret::without_secrets(&keep(&text)).into_owned()),
                Output::Document(keep) => keep(&text),
            };
            Some(kept.map_or_else(CaptureEntry::Gap, |text| {
                CaptureEntry::File(text.into_bytes())
            }))
        }
        CaptureEntry::Gap(gap) => Some(CaptureEntry::Gap(secret::guarded_gap(gap.clone()))),
        CaptureEntry::Link(_) | CaptureEntry::Directory => None,
    }
}

impl CommandCaptureRule {
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
    const MAX_INTERFACE_NAME_BYTES: usize = 15;
    let plain = |letter: char| !letter.is_whitespace() && !letter.is_control() && letter != '/';
    !name.is_empty()
        && name.len() <= MAX_INTERFACE_NAME_BYTES
        && name.chars().all(plain)
        && !secret::holds_token(name)
}

/// A listed command that printed something else than it should.
fn refused(what: &str) -> ReadGap {
    ReadGap::Failed(format!("{what} printed something else than it should"))
}
