//! What a program said of why it failed, for people.

use std::process::ExitStatus;

use crosstie_facts::ReadGap;

/// Of what a program said last: enough for an error with the place that it names.
const MAX_LINES: usize = 5;
const MAX_LINE_CHARACTERS: usize = 200;
pub(super) const NO_REASON: &str = "no reason given";

/// Of a program that was to print facts: root would have read them, or why it did not.
pub(super) fn refusal(status: ExitStatus, complaint: &str) -> ReadGap {
    let asks_for_root = [
        "operation not permitted",
        "permission denied",
        "must be root",
        "superuser",
    ];
    let lower = complaint.to_lowercase();
    if asks_for_root.iter().any(|words| lower.contains(words)) {
        return ReadGap::Denied;
    }
    let mut lines = complaint.lines().map(plain);
    let first = lines.find(|line| !line.is_empty());
    let first = first.unwrap_or_else(|| NO_REASON.to_owned());
    ReadGap::Failed(format!("{status}: {first}"))
}

/// The end of what a program said, where it tells why it failed; nothing where it said nothing.
pub(super) fn last_lines(said: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(said);
    let lines = text.lines().map(plain);
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(MAX_LINES)..];
    (!last.is_empty()).then(|| last.join("; "))
}

/// A line of another program, with nothing in it that a terminal would obey.
fn plain(line: &str) -> String {
    let harmless = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    let line: String = line.chars().map(harmless).collect();
    line.trim().chars().take(MAX_LINE_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{CommandLimits, run_to_end};

    #[test]
    fn facts_that_root_would_read_are_denied() {
        let status = ExitStatus::default();
        let complaint = "dmesg: read kernel buffer failed: Operation not permitted";
        assert_eq!(refusal(status, complaint), ReadGap::Denied);
    }

    /// netplan warns of each file that others may read before it tells what is wrong with one.
    #[test]
    fn what_a_program_said_last_is_told_and_harmless() {
        let said = |script: &str| {
            let ended = run_to_end("sh", &["-c", script], &[], CommandLimits::default());
            ended.unwrap().last_words()
        };
        let script = "for i in $(seq 10000); do echo \"Permissions for $i.yaml are too open\"; done >&2; \
                      printf '\\033[31m/etc/netplan/x.yaml:5:7: Error\\tin definition\\n\\n   dhcp4: foo\\r\\n' >&2; exit 1";
        let warnings = ["9998", "9999", "10000"];
        let warnings = warnings.map(|file| format!("Permissions for {file}.yaml are too open; "));
        let error = "[31m/etc/netplan/x.yaml:5:7: Error in definition; dhcp4: foo";
        assert_eq!(said(script), warnings.concat() + error);
        let denied = "modprobe: ERROR: could not insert 'rdma_ucm': Operation not permitted";
        assert_eq!(said(&format!("echo \"{denied}\" >&2; exit 1")), denied);
        assert_eq!(said("echo it says so here; exit 1"), "it says so here");
        assert_eq!(said("exit 1"), NO_REASON);
        assert_eq!(
            said(&format!("echo {}", "x".repeat(999))).len(),
            MAX_LINE_CHARACTERS
        );
    }
}
