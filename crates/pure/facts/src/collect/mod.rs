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
pub(crate) use command::is_cut_log;
pub use command::{COMMANDS, CommandCaptureRule, command, cut_log, gpu_xml};
pub use file_names::rename_user_files;
pub(crate) use file_names::{is_number, is_uuid, split_ending};
pub use filter::is_engine_variable;
pub use rules::{CollectRule, FileFilter, GROUPS, HOME_NCCL_CONF, NAMED_NCCL_CONF};
pub use walk::{PathAlias, alias, collect_all, collect_group};

/// Why there is no root. sudo calls the user by name, and prints what it was to run, so its reasons are told in our words.
pub fn root_refusal(text: &str) -> String {
    const REASONS: [(&str, &[&str]); 4] = [
        (
            "sudo wants a password",
            &["password is required", "authentication is required"],
        ),
        (
            "sudo did not accept the password",
            &["incorrect password", "incorrect authentication"],
        ),
        (
            "sudo is not allowed",
            &["not in the sudoers", "not allowed to", "may not run"],
        ),
        ("there is no sudo", &["not found", "No such file"]),
    ];
    let known = REASONS
        .iter()
        .find(|(reason, words)| *reason == text || words.iter().any(|word| text.contains(word)));
    known
        .map_or(secret::WITHHELD, |(reason, _)| reason)
        .to_owned()
}

/// A host's name, and nothing that follows it; empty if there is none.
pub fn host_name(text: &str) -> String {
    let name = filter::first_word(text).unwrap_or_default();
    let name = name.trim_end();
    if secret::is_secret(name) { "" } else { name }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::root_refusal;

    #[test]
    fn why_there_is_no_root_names_nobody() {
        for (told, kept) in [
            (
                "sudo refused: Sorry, user alice is not allowed to execute '/home/alice/x' as root on acme.",
                "sudo is not allowed",
            ),
            (
                "sudo refused: alice is not in the sudoers file.",
                "sudo is not allowed",
            ),
            (
                "sudo refused: sudo: a password is required",
                "sudo wants a password",
            ),
            (
                "sudo did not accept the password",
                "sudo did not accept the password",
            ),
            ("sudo refused: hello alice", "withheld"),
        ] {
            assert_eq!(root_refusal(told), kept);
            assert_eq!(root_refusal(kept), kept);
        }
    }
}
