//! What is kept of files in which secrets or private names can sit.
//!
//! Every filter is idempotent, keeps by allow-list, and leaves text that the file's own parser reads: a capture is cut
//! down, not converted.

#![allow(clippy::unnecessary_wraps)] // filters share one type

mod engines;
mod managed;
mod network;
mod packages;
mod system;

pub(super) use engines::engine_settings;
pub use engines::is_engine_variable;
pub(super) use managed::{block, nccl_conf, nothing, or_ours};
pub(crate) use network::is_other;
pub(super) use network::{ifupdown, keyfile, netplan, networkd, networkd_link, nm_device};
pub(super) use packages::{dpkg_status, module_paths, modules};
pub(super) use system::{
    cpuinfo, kernel_parameters, login_limits, machine_id, manager_limits, meminfo, node_meminfo,
    os_release, process_limits, sysctl_file, without_comments,
};

/// The lines that are to be kept; `None` if there is none.
fn lines(text: &str, keep: impl Fn(&str) -> bool) -> Option<String> {
    let kept: String = text
        .lines()
        // What `lines` leaves of a strange line's end would be gone the second time.
        .map(|line| line.trim_end_matches('\r'))
        .filter(|line| keep(line))
        .flat_map(|line| [line, "\n"])
        .collect();
    (!kept.is_empty()).then_some(kept)
}

/// Lines whose text before `separator` is one of `keys`.
fn keyed(text: &str, separator: char, keys: &[&str]) -> Option<String> {
    lines(text, |line| {
        line.split_once(separator)
            .is_some_and(|(key, _)| keys.contains(&key.trim()))
    })
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}
