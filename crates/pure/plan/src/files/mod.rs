//! The texts of files, each with the quoting of its own format. A value that a format cannot hold is refused before.

mod boot;
mod hosts;
mod keyfile;
mod netplan;
mod networkd;
pub mod paths;
mod system;

pub(crate) use boot::{boot_file, boot_unit};
pub(crate) use hosts::hosts;
pub(crate) use keyfile::{carrier, keyfile};
pub(crate) use netplan::netplan;
pub(crate) use networkd::network;
pub(crate) use system::{LONGEST, limits, manager_limits, modules, nccl, sysctls};

pub(crate) use crosstie_model::is_plain;
use crosstie_model::{Mtu, Renderer};
use ipnet::IpNet;

/// An interface as the cluster file wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) renderer: Renderer,
    /// Sorted.
    pub(crate) addresses: Vec<IpNet>,
    pub(crate) mtu: Option<Mtu>,
}

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
