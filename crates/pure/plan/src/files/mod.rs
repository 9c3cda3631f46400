//! The texts of files that no network manager reads, each with the quoting of its own format. A value that a format cannot hold is
//! refused before.

mod boot;
mod hosts;
pub mod paths;
mod system;

pub(crate) use boot::{boot_file, boot_unit};
pub(crate) use hosts::hosts;
pub(crate) use system::{MAX_NCCL_VALUE_BYTES, limits, manager_limits, modules, nccl, sysctls};

pub(crate) use crosstie_model::is_plain;

/// Text for a comment, on one line.
pub(crate) fn comment(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                ' '
            } else {
                c
            }
        })
        .collect()
}
