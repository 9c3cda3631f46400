//! The host key that a node really shows, by way of the user's own configuration, and what the user's ssh thinks of it.
//!
//! Two connections, neither of which logs in. The first is as strict as can be and tells whether the key is known; the
//! second gets hold of the key itself, in a file that was empty.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crosstie_trust::{KeyKind, PublicKey};
use thiserror::Error;

use crate::{
    agent_pipe::{AgentPipe, AgentPipeError, ChildProcessGroup, PipeInput},
    connect::{ConnectError, LoginCommands, ssh_failure},
    ssh::{SshDestination, SshOptions, option, own_connection, quoted, without_prompts},
};

/// What ssh makes of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedDestination {
    pub user: String,
    pub port: u16,
    /// By way of another machine.
    pub jumps: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownHostKey {
    pub key: PublicKey,
    /// The user's ssh knows it, by whatever means.
    pub known: bool,
}

#[derive(Debug, Error)]
pub enum HostKeyError {
    #[error("cannot make a file for ssh")]
    Scratch(#[source] io::Error),
    #[error("ssh cannot make sense of its name: {said}")]
    Resolve { said: String },
    #[error(transparent)]
    Ssh(#[from] ConnectError),
    #[error("ssh was shown no host key of a kind that can be pinned: {said}")]
    None { said: String },
    #[error("it showed one host key, and another a moment later: two machines answer to this name")]
    Fickle,
}

/// The options of a try that ends before anybody logs in.
struct Try<'a> {
    destination: &'a SshDestination,
    options: &'a SshOptions,
    /// ssh's own words, without those of a jump host's ssh.
    log: PathBuf,
    deadline: Duration,
}

struct Outcome {
    log: String,
    complaint: String,
}

/// `ssh -G`: nothing is connected to.
pub fn resolve(
    destination: &SshDestination,
    options: &SshOptions,
    deadline: Duration,
) -> Result<ResolvedDestination, HostKeyError> {
    let mut command = ssh(options);
    command.args(["-T", "-G", "--", destination.as_str()]);
    let (output, complaint) = run(command, deadline)?;
    let value = |name: &str| {
        let lines = output.lines().filter_map(|line| line.split_once(' '));
        lines
            .clone()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    };
    let resolved = || {
        Some(ResolvedDestination {
            user: value("user")?,
            port: value("port")?.parse().ok()?,
            jumps: ["proxyjump", "proxycommand"]
                .into_iter()
                .filter_map(value)
                .any(|way| way != "none"),
        })
    };
    resolved().ok_or_else(|| HostKeyError::Resolve {
        said: last_line(&complaint),
    })
}

/// Looks at the key twice. `folder` is for this node alone.
pub fn read_host_key(
    destination: &SshDestination,
    options: &SshOptions,
    folder: &Path,
    deadline: Duration,
) -> Result<ShownHostKey, HostKeyError> {
    let login = LoginCommands::new(destination.as_str(), options.config.as_deref());
    let attempt = Try {
        destination,
        options,
        log: folder.join("log"),
        deadline,
    };
    let strict = attempt.run(&[("StrictHostKeyChecking", "yes".to_owned())])?;
    let said = format!("{}\n{}", strict.log, strict.complaint);
    let known = match shown_key(&strict.log) {
        Some(_) if was_accepted(&strict.log) => true,
        Some(_) => match ssh_failure(&login, &said) {
            ConnectError::HostKeyUnknown { .. } => false,
            error => return Err(error.into()),
        },
        None => return Err(ssh_failure(&login, &said).into()),
    };
    let known_hosts = folder.join("shown");
    fs::write(&known_hosts, "").map_err(HostKeyError::Scratch)?;
    let mut taking = vec![
        ("StrictHostKeyChecking", "accept-new".to_owned()),
        ("UserKnownHostsFile", quoted(&known_hosts)),
        ("GlobalKnownHostsFile", "/dev/null".to_owned()),
        ("KnownHostsCommand", "none".to_owned()),
        ("HostKeyAlias", "shown".to_owned()),
    ];
    let first = shown_key(&strict.log);
    if let Some(kind) = first.as_ref().and_then(|(kind, _)| *kind) {
        taking.push(("HostKeyAlgorithms", kind.algorithms().to_owned()));
    }
    let taken = attempt.run(&taking)?;
    let text = fs::read_to_string(&known_hosts).map_err(HostKeyError::Scratch)?;
    let key = text
        .lines()
        .find_map(|line| line.strip_prefix("shown ")?.parse::<PublicKey>().ok());
    let Some(key) = key else {
        let said = last_line(&format!("{}\n{}", taken.log, taken.complaint));
        return Err(HostKeyError::None { said });
    };
    if first.is_some_and(|(_, fingerprint)| fingerprint != key.fingerprint().to_string()) {
        return Err(HostKeyError::Fickle);
    }
    Ok(ShownHostKey { key, known })
}

impl Try<'_> {
    fn run(&self, more: &[(&str, String)]) -> Result<Outcome, HostKeyError> {
        let mut command = ssh(self.options);
        command
            .args(["-T", "-a", "-x", "-n", "-e", "none", "-E"])
            .arg(&self.log);
        let seconds = self.options.connect.as_secs().max(1).to_string();
        for (name, value) in [
            ("BatchMode", "yes"),
            ("PreferredAuthentications", "none"),
            ("ConnectTimeout", &seconds),
            ("ClearAllForwardings", "yes"),
            ("RemoteCommand", "none"),
            // By the option, not by -v, which a jump host's ssh would be given too.
            ("LogLevel", "DEBUG1"),
        ] {
            option(&mut command, name, value);
        }
        for (name, value) in more {
            option(&mut command, name, value);
        }
        own_connection(&mut command);
        without_prompts(&mut command);
        command.args(["--", self.destination.as_str(), "exit"]);
        let _ = fs::remove_file(&self.log);
        let (_, complaint) = run(command, self.deadline)?;
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log[..log.len().min(256 << 10)]).into_owned();
        Ok(Outcome { log, complaint })
    }
}

fn ssh(options: &SshOptions) -> Command {
    let mut command = Command::new("ssh");
    if let Some(config) = &options.config {
        command.arg("-F").arg(config);
    }
    command.env("LC_ALL", "C");
    command
}

/// The kind of the key and its fingerprint, from ssh's log.
fn shown_key(log: &str) -> Option<(Option<KeyKind>, String)> {
    let line = log
        .lines()
        .find_map(|line| line.strip_prefix("debug1: Server host key: "))?;
    let (kind, fingerprint) = line.trim_end().split_once(' ')?;
    let kind = kind.split("-cert-v01@").next().unwrap_or(kind);
    let kind = KeyKind::ALL.into_iter().find(|known| known.name() == kind);
    Some((kind, fingerprint.to_owned()))
}

/// Keys are exchanged once the host's is accepted (`ssh_kex2`), and not before.
fn was_accepted(log: &str) -> bool {
    log.contains("SSH2_MSG_NEWKEYS sent") || log.contains("SSH2_MSG_NEWKEYS received")
}

fn run(command: Command, deadline: Duration) -> Result<(String, String), HostKeyError> {
    let until = Instant::now() + deadline;
    let link = AgentPipe::spawn(command, ChildProcessGroup::Own);
    let mut link = link.map_err(|source| ConnectError::Spawn {
        program: "ssh".to_owned(),
        source,
    })?;
    let mut output = Vec::new();
    loop {
        match link.hear(until) {
            Ok(PipeInput::Output(bytes)) if output.len() < 256 << 10 => output.extend(bytes),
            Ok(PipeInput::Output(_) | PipeInput::Other) => {}
            Ok(PipeInput::End) => break,
            Err(AgentPipeError::Deadline) => {
                let (after, phase) = (deadline, "looking at its host key");
                return Err(ConnectError::Deadline { after, phase }.into());
            }
            Err(error) => return Err(ConnectError::Link(error).into()),
        }
    }
    link.finish();
    let output = String::from_utf8_lossy(&output).into_owned();
    Ok((output, link.complaint()))
}

fn last_line(text: &str) -> String {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.unwrap_or("it gave no reason")
        .chars()
        .take(200)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_its_key() {
        let sum = "SHA256:67XcRkPO/HytkJdWkqoM8F2+4kLeRsor2J4GvpzNkF8";
        let log = format!(
            "debug1: x\r\ndebug1: Server host key: ssh-ed25519-cert-v01@openssh.com {sum}\r\n"
        );
        assert_eq!(
            shown_key(&log),
            Some((Some(KeyKind::Ed25519), sum.to_owned()))
        );
        assert_eq!(shown_key("debug1: nothing\n"), None);
    }
}
