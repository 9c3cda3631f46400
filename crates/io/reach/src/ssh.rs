//! The system's OpenSSH as a child process: the user's own configuration, agent, jump hosts and known hosts apply.

use std::{fmt, path::PathBuf, process::Command, str::FromStr, time::Duration};

use thiserror::Error;

/// A node, as ssh takes it: `host`, `user@host`, a name from the configuration, or `ssh://user@host:port`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Destination(String);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DestinationError {
    #[error("{0:?} cannot be a node: it starts with a dash")]
    Dash(String),
    #[error(
        "{0:?} cannot be a node: give a host name, user@host, or a name from your ssh configuration"
    )]
    Odd(String),
}

impl FromStr for Destination {
    type Err = DestinationError;

    /// A name that ssh could take for an option, or a shell for more than a name, is refused.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with('-') {
            return Err(DestinationError::Dash(text.to_owned()));
        }
        let odd =
            |c: char| c.is_control() || c.is_whitespace() || "'\"`$;&|<>(){}\\*?!#".contains(c);
        let host = text.rsplit('@').next().unwrap_or_default();
        if host.is_empty() || host.starts_with('-') || text.contains(odd) {
            return Err(DestinationError::Odd(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[derive(Debug, Clone)]
pub struct SshOptions {
    /// In place of the user's own configuration (`ssh -F`).
    pub config: Option<PathBuf>,
    /// ssh may ask on the terminal for a password, a passphrase, or about a host key.
    pub prompts: bool,
    /// For the connection and the first words of the other side.
    pub connect: Duration,
}

/// A shell on the node that reads its commands from standard input. Nothing is added that trusts more than the user does.
pub(crate) fn command(destination: &Destination, options: &SshOptions) -> Command {
    let mut command = Command::new("ssh");
    if let Some(config) = &options.config {
        command.arg("-F").arg(config);
    }
    // No terminal, agent or X11 over there.
    command.args(["-T", "-a", "-x", "-e", "none"]);
    let batch = if options.prompts { "no" } else { "yes" };
    let seconds = options.connect.as_secs().max(1);
    for option in [
        format!("BatchMode={batch}"),
        format!("ConnectTimeout={seconds}"),
        "ClearAllForwardings=yes".to_owned(),
        // One of the user's would stand in the way of ours.
        "RemoteCommand=none".to_owned(),
        // A quieter one would hide why it failed.
        "LogLevel=INFO".to_owned(),
    ] {
        command.arg("-o").arg(option);
    }
    command.args(["--", &destination.0, "exec /bin/sh"]);
    // Its complaints are read; strerror(3) and gai_strerror(3) speak the user's language otherwise.
    command.env("LC_ALL", "C");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_node_is_refused() {
        for name in [
            "spark-b",
            "alice@spark-b",
            "ssh://alice@spark-b:2222",
            "192.0.2.7",
            "fd00::7",
        ] {
            assert!(name.parse::<Destination>().is_ok(), "{name}");
        }
        for name in [
            "",
            "-oProxyCommand=x",
            "alice@-x",
            "a b",
            "a\nb",
            "a;b",
            "$(a)",
            "alice@",
        ] {
            assert!(name.parse::<Destination>().is_err(), "{name}");
        }
    }

    #[test]
    fn host_keys_are_never_trusted_for_the_user() {
        for prompts in [false, true] {
            let options = SshOptions {
                config: Some("lab/ssh_config".into()),
                prompts,
                connect: Duration::from_secs(10),
            };
            let command = command(&"spark-b".parse().unwrap(), &options);
            let arguments: Vec<_> = command
                .get_args()
                .map(|argument| argument.to_str().unwrap())
                .collect();
            let text = arguments.join(" ");
            assert!(
                !text.contains("HostKey") && !text.contains("KnownHosts"),
                "{text}"
            );
            assert!(text.ends_with("-- spark-b exec /bin/sh"), "{text}");
            assert_eq!(text.contains("BatchMode=yes"), !prompts);
        }
    }
}
