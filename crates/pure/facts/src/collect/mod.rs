//! What is read of a node, and how it is cut down.
//!
//! One table for files ([`GROUPS`]) and one for commands ([`command`]) decide what collection reads and what a capture holds. Nothing outside
//! them leaves a node, so that a capture can be posted in public. What looks like a secret does not leave it either, wherever
//! it stands ([`secret`]).

mod absent_interfaces;
mod command;
mod file_names;
pub(crate) mod filter;
pub(crate) mod interface_name;
mod pattern;
pub(crate) mod rules;
pub(crate) mod secret;
mod walk;

pub use absent_interfaces::rename_absent_interfaces;
pub use command::{COMMANDS, CommandCaptureRule, command, gpu_xml};
pub use file_names::rename_user_files;
pub(crate) use file_names::{is_number, is_uuid, split_ending};
pub use filter::is_engine_variable;
pub use rules::{CollectRule, FileFilter, GROUPS, HOME_NCCL_CONF, NAMED_NCCL_CONF};
pub use walk::{PathAlias, alias, collect_all, collect_group};

/// Why something was refused, in another program's words.
pub fn reason(text: &str) -> String {
    secret::guarded_reason(text.to_owned())
}

/// A host's name, and nothing that follows it; empty if there is none.
pub fn host_name(text: &str) -> String {
    let name = filter::first_word(text).unwrap_or_default();
    let name = name.trim_end();
    if secret::is_secret(name) { "" } else { name }.to_owned()
}
