//! What went wrong, told from what ssh, sudo, the shell or the loader complained of.

use std::process::ExitStatus;

use super::{ConnectError, LoginCommands};

/// How far it got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectPhase {
    /// Until the script speaks: whatever fails is ssh's affair.
    Login,
    Prepare,
    Sudo,
    /// The agent is about to speak.
    Start,
}

impl ConnectPhase {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Login => "logging in",
            Self::Prepare => "preparing the agent",
            Self::Sudo => "becoming root",
            Self::Start => "starting the agent",
        }
    }
}

pub(super) const WRONG_PASSWORD: &str = "sudo did not accept the password";

/// The connection ended before there was an agent.
pub(super) fn of_end(
    login: &LoginCommands,
    phase: ConnectPhase,
    status: Option<ExitStatus>,
    complaint: &str,
    noise: &str,
) -> ConnectError {
    let said = last_words(complaint)
        .or_else(|| last_words(noise))
        .unwrap_or_else(|| match status {
            Some(status) => format!("it gave no reason ({status})"),
            None => "it gave no reason".to_owned(),
        });
    match phase {
        ConnectPhase::Login => of_ssh(login, complaint, said),
        ConnectPhase::Sudo if is_wrong_password(complaint) => ConnectError::Sudo {
            why: WRONG_PASSWORD.to_owned(),
        },
        ConnectPhase::Sudo => ConnectError::Sudo {
            why: format!("sudo refused: {said}"),
        },
        ConnectPhase::Start if complaint.contains("GLIBC_") => ConnectError::OldSystem,
        ConnectPhase::Start if complaint.contains("Permission denied") => {
            ConnectError::NoExec { said }
        }
        ConnectPhase::Start => ConnectError::Start { said },
        ConnectPhase::Prepare => ConnectError::Ssh {
            login: login.clone(),
            said,
        },
    }
}

/// Where one wrong password is one too many: sudo's `1 incorrect password attempt`, sudo-rs's `maximum 1 incorrect
/// authentication attempts`.
fn is_wrong_password(complaint: &str) -> bool {
    [
        "incorrect password attempt",
        "incorrect authentication attempt",
    ]
    .iter()
    .any(|words| complaint.contains(words))
}

/// Of an ssh that ended before anybody spoke at the other end.
pub(crate) fn ssh_failure(login: &LoginCommands, complaint: &str) -> ConnectError {
    let said = last_words(complaint).unwrap_or_else(|| "it gave no reason".to_owned());
    of_ssh(login, complaint, said)
}

/// The texts are OpenSSH's own and libc's in the C locale.
fn of_ssh(login: &LoginCommands, complaint: &str, said: String) -> ConnectError {
    let login = login.clone();
    let has = |words: &str| complaint.contains(words);
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") || has("POSSIBLE DNS SPOOFING") {
        return ConnectError::HostKeyChanged { login };
    }
    if has("Host key verification failed") {
        return ConnectError::HostKeyUnknown { login };
    }
    if let Some(offered) = complaint
        .lines()
        .find_map(|line| line.split_once("Permission denied (")?.1.split(')').next())
    {
        let offered = offered.to_owned();
        return ConnectError::Denied { login, offered };
    }
    if has("Could not resolve hostname") {
        return ConnectError::Unresolved { labs: Vec::new() };
    }
    if has("Connection refused") {
        return ConnectError::Refused;
    }
    if has("timed out") || has("No route to host") || has("is unreachable") {
        return ConnectError::Unanswered;
    }
    ConnectError::Ssh { login, said }
}

/// The script gave up, and said where.
pub(super) fn of_script(at: &str, why: &str) -> ConnectError {
    let why: String = why.chars().take(300).collect();
    let full = ["No space left", "quota exceeded"];
    if full.iter().any(|words| why.contains(words)) {
        return ConnectError::DiskFull { why };
    }
    match at {
        "sum" => ConnectError::Damaged {
            why: format!("{why} bytes came"),
        },
        "owner" => ConnectError::Owner { folder: why },
        "shared" => ConnectError::Shared { folder: why },
        _ => ConnectError::Unwritable { why },
    }
}

/// The last line that says something, made short.
fn last_words(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.chars().take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(phase: ConnectPhase, complaint: &str) -> String {
        of_end(
            &LoginCommands::new("spark-b", None),
            phase,
            None,
            complaint,
            "",
        )
        .to_string()
    }

    #[test]
    fn each_complaint_of_ssh_has_its_cure() {
        for (complaint, cure) in [
            (
                "@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.",
                "Compare the fingerprint",
            ),
            (
                "No ED25519 host key is known for spark-b and you have requested strict checking.\nHost key verification failed.",
                "log in once with `ssh spark-b`",
            ),
            (
                "alice@spark-b: Permission denied (publickey,password).",
                "(publickey,password)",
            ),
            (
                "ssh: Could not resolve hostname spark-b: Name or service not known",
                "spelling",
            ),
            (
                "ssh: connect to host spark-b port 22: Connection refused",
                "sshd",
            ),
            (
                "ssh: connect to host spark-b port 22: Connection timed out",
                "switched on",
            ),
            ("Connection timed out during banner exchange", "switched on"),
            ("This account is currently not available.", "not available"),
            ("", "gave no reason"),
        ] {
            let text = told(ConnectPhase::Login, complaint);
            assert!(text.contains(cure), "{complaint}: {text}");
        }
    }

    #[test]
    fn an_agent_that_does_not_start_says_why() {
        let old = "crosstie: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by crosstie)";
        assert!(told(ConnectPhase::Start, old).contains("Ubuntu 22.04"));
        let noexec = "/bin/sh: 76: exec: /home/alice/.cache/crosstie/bin/00: Permission denied";
        assert!(told(ConnectPhase::Start, noexec).contains("noexec"));
        assert!(told(ConnectPhase::Start, "Exec format error").contains("Exec format error"));
    }

    #[test]
    fn a_script_that_gave_up_says_where() {
        let full = of_script(
            "write",
            "head: error writing 'standard output': No space left on device",
        );
        assert!(matches!(full, ConnectError::DiskFull { .. }));
        let read_only = of_script(
            "folder",
            "mkdir: cannot create directory: Read-only file system",
        );
        assert!(read_only.to_string().contains("XDG_CACHE_HOME"));
        assert!(matches!(
            of_script("owner", "x"),
            ConnectError::Owner { .. }
        ));
        let shared = of_script("shared", "/home/alice/.cache/crosstie/bin").to_string();
        assert!(shared.starts_with("/home/alice/.cache/crosstie/bin on it does not belong"));
    }

    /// The texts of sudo 1.9 and of sudo-rs 0.2.
    #[test]
    fn a_wrong_password_is_told_by_either_sudo() {
        for complaint in [
            "CROSSTIE-6b1f0d3a-passwordsudo: 1 incorrect password attempt\n",
            "[sudo: CROSSTIE-6b1f0d3a-password] Password: sudo: maximum 1 incorrect authentication attempts\n",
            "[sudo: CROSSTIE-6b1f0d3a-password] Password: sudo-rs: Maximum 3 incorrect authentication attempts\n",
        ] {
            assert_eq!(told(ConnectPhase::Sudo, complaint), WRONG_PASSWORD);
        }
        let other = "sudo: PAM account management error: Permission denied";
        assert!(told(ConnectPhase::Sudo, other).starts_with("sudo refused: "));
    }

    #[test]
    fn a_nodes_name_is_one_word_of_a_command() {
        let name = "$(id); rm -rf ~";
        for complaint in [
            "REMOTE HOST IDENTIFICATION HAS CHANGED",
            "Host key verification failed.",
            "Permission denied (publickey).",
            "odd",
        ] {
            let text = of_end(
                &LoginCommands::new(name, None),
                ConnectPhase::Login,
                None,
                complaint,
                "",
            );
            let text = text.to_string();
            assert!(text.contains("ssh '$(id); rm -rf ~'"), "{text}");
        }
    }

    #[test]
    fn commands_reach_it_by_the_same_configuration() {
        let login = LoginCommands::new("spark-b", Some("my lab/ssh".as_ref()));
        let denied = ssh_failure(&login, "Permission denied (publickey).").to_string();
        for command in [
            "`crosstie trust --ssh-config 'my lab/ssh' spark-b`",
            "`ssh -F 'my lab/ssh' spark-b`",
        ] {
            assert!(denied.contains(command), "{denied}");
        }
    }
}
