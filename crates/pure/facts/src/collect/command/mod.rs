//! What is kept of commands' output: the second half of the allow-list.

mod firewall;
mod gpu;
mod text;

use crate::raw::{Entry, Gap};

pub use gpu::to_xml as gpu_xml;

/// What a capture keeps of a command's output; `None` if it has no such command. Cutting down twice changes nothing.
pub fn command(name: &str, output: &[u8]) -> Option<Entry> {
    let text = String::from_utf8_lossy(output);
    let kept = match name {
        "ip-addr.json" | "ip-route.json" | "ip-rule.json" | "ip-neigh.json"
        | "rdma-resource.json" => Ok(text.into_owned()),
        "dmesg.txt" => Ok(text::kernel_log(&text)),
        "timedatectl.txt" => Ok(text::clock(&text)),
        "environment.txt" => Ok(text::environment(&text)),
        "nft.json" => firewall::reduce(&text),
        "nvidia-smi.xml" => gpu::reduce(&text),
        _ if is_port_file(name, "ethtool-S-", ".txt") => Ok(text::driver_counters(&text)),
        _ if is_port_file(name, "ethtool-", ".txt") || is_port_file(name, "dcb-", ".json") => {
            Ok(text.into_owned())
        }
        _ => return None,
    };
    Some(kept.map_or_else(Entry::Gap, |text| Entry::File(text.into_bytes())))
}

fn is_port_file(name: &str, prefix: &str, suffix: &str) -> bool {
    name.strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix(suffix))
        .is_some_and(|port| !port.is_empty())
}

/// A listed command that printed something else than it should.
fn refused(what: &str) -> Gap {
    Gap::Failed(format!("{what} printed something else than it should"))
}
