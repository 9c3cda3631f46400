//! What is kept of files in which secrets or private names can sit.
//!
//! Every filter is idempotent, keeps by allow-list, and leaves text that the file's own parser reads: a capture is cut
//! down, not converted. Of a line that is kept, the key and its value are: comments, second assignments and commands that
//! follow stay on the node.

#![allow(clippy::unnecessary_wraps)] // filters share one type

mod engines;
mod managed;
mod packages;
mod sections;
mod system;
mod whole;
mod word;

pub use engines::is_engine_variable;
pub(super) use engines::{assignment, engine_settings};
pub(crate) use managed::nothing;
pub(super) use managed::{block, nccl_conf, or_ours};
pub(super) use packages::{dpkg_status, module_paths, modules};
pub(crate) use sections::{Kept, in_sections, sections};
pub(super) use system::{
    cpuinfo, kernel_parameters, login_limits, machine_id, manager_limits, meminfo, module_names,
    node_meminfo, os_release, process_limits, sysctl_file,
};
pub(super) use whole::{first_word, kernel_file, nvidia_version, without_people};
pub(super) use word::is_description;
pub(crate) use word::{is_plain, leading};

/// What is kept of each line; `None` if that is nothing.
pub(crate) fn lines<'a>(text: &'a str, kept: impl Fn(&'a str) -> Option<String>) -> Option<String> {
    let kept: String = text
        .lines()
        // What `lines` leaves of a strange line's end would be gone the second time.
        .map(|line| line.trim_end_matches('\r'))
        .filter_map(kept)
        .flat_map(|line| [line, "\n".to_owned()])
        .collect();
    (!kept.is_empty()).then_some(kept)
}

/// Of lines whose text before `separator` is one of `keys`, what is kept of the text behind it.
pub(crate) fn keyed(
    text: &str,
    separator: char,
    keys: &[&str],
    value: impl Fn(&str) -> &str,
) -> Option<String> {
    lines(text, |line| {
        let (key, rest) = line.split_once(separator)?;
        let value = value(rest);
        let kept = keys.contains(&key.trim()) && (!value.is_empty() || rest.trim().is_empty());
        kept.then(|| format!("{key}{separator}{value}"))
    })
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}
