//! The system's OpenSSH as a child process: the user's own configuration, agent, jump hosts and known hosts apply.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
    str::FromStr,
    time::Duration,
};

use thiserror::Error;

/// A node, as ssh takes it: `host`, `user@host`, a name from the configuration, or `ssh://user@host:port`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SshDestination(String);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SshDestinationError {
    #[error("{0:?} cannot be a node: it starts with a dash")]
    Dash(String),
    #[error(
        "{0:?} cannot be a node: give a host name, user@host, or a name from your ssh configuration"
    )]
    Odd(String),
    #[error("{0:?} cannot be a node: want ssh://USER@HOST:PORT, with nothing behind it")]
    Uri(String),
}

impl FromStr for SshDestination {
    type Err = SshDestinationError;

    /// A name that ssh could take for an option, or a shell for more than a name, is refused.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with('-') {
            return Err(SshDestinationError::Dash(text.to_owned()));
        }
        let odd =
            |c: char| c.is_control() || c.is_whitespace() || "'\"`$;&|<>(){}\\*?!#".contains(c);
        let host = text.rsplit('@').next().unwrap_or_default();
        if host.is_empty() || host.starts_with('-') || text.contains(odd) {
            return Err(SshDestinationError::Odd(text.to_owned()));
        }
        if text
            .strip_prefix("ssh://")
            .is_some_and(|uri| !is_login(uri))
        {
            return Err(SshDestinationError::Uri(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// `user@host:port`; ssh shows all of its options to whoever writes more.
fn is_login(uri: &str) -> bool {
    let login = uri.strip_suffix('/').unwrap_or(uri);
    let host = login.rsplit_once('@').map_or(login, |(_, host)| host);
    // What colons an address has are in brackets.
    let behind = host.rsplit_once(']').map_or(host, |(_, behind)| behind);
    let port = behind.rsplit_once(':').map(|(_, port)| port.parse());
    !login.contains('/') && !matches!(port, Some(Err(_) | Ok(0_u16)))
}

impl SshDestination {
    /// The name alone: of `ssh://user@[host]:port` or `user@host`, the host.
    pub fn host(&self) -> &str {
        let uri = self.0.strip_prefix("ssh://");
        let text = uri.unwrap_or(&self.0);
        let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
        match (uri, host.strip_prefix('[')) {
            (_, Some(rest)) => rest.split(']').next().unwrap_or(rest),
            (Some(_), None) => host.split([':', '/']).next().unwrap_or(host),
            (None, None) => host,
        }
    }

    /// The user and the port, where they were written with the name.
    pub fn written(&self) -> (Option<&str>, Option<u16>) {
        let uri = self.0.strip_prefix("ssh://");
        let text = uri.unwrap_or(&self.0);
        let user = text.rsplit_once('@').map(|(user, _)| user);
        let port = uri.and_then(|uri| uri.trim_end_matches('/').rsplit_once(':'));
        (user, port.and_then(|(_, port)| port.parse().ok()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SshDestination {
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
    /// Over a TCP connection that is opened now, though the user's ssh may share one that is open (`ControlMaster`).
    pub alone: bool,
    /// The host key that it must show, and no other.
    pub pin: Option<PinnedHostKey>,
    /// How to log in, if not as the user's configuration says.
    pub login: SshLogin,
}

/// A host key that was seen and approved of.
#[derive(Debug, Clone)]
pub struct PinnedHostKey {
    /// Holds the key, under the name below.
    pub known_hosts: PathBuf,
    pub alias: String,
    pub algorithms: &'static str,
}

#[derive(Debug, Clone, Default)]
pub enum SshLogin {
    #[default]
    Configured,
    /// With this key and nothing else.
    Identity(PathBuf),
    /// As configured, and with a password where no key is taken: this program answers ssh's question.
    Askpass(AskpassRelay),
}

/// How ssh's question reaches whoever has the answer.
#[derive(Debug, Clone)]
pub struct AskpassRelay {
    pub program: PathBuf,
    pub socket: PathBuf,
}

/// A shell on the node that reads its commands from standard input. Nothing is added that trusts more than the user does.
pub(crate) fn command(destination: &SshDestination, options: &SshOptions) -> Command {
    let mut command = Command::new("ssh");
    if let Some(config) = &options.config {
        command.arg("-F").arg(config);
    }
    // No terminal, agent or X11 over there.
    command.args(["-T", "-a", "-x", "-e", "none"]);
    let asks = options.prompts || matches!(options.login, SshLogin::Askpass(_));
    let batch = if asks { "no" } else { "yes" };
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
    if options.alone {
        unshared(&mut command);
    }
    if let Some(pin) = &options.pin {
        pinned(&mut command, pin);
    }
    log_in(&mut command, &options.login);
    command.args(["--", &destination.0, "exec /bin/sh"]);
    // Its complaints are read; strerror(3) and gai_strerror(3) speak the user's language otherwise.
    command.env("LC_ALL", "C");
    command
}

/// Options of the command line go before those of any file, and do not reach a jump host.
fn pinned(command: &mut Command, pin: &PinnedHostKey) {
    option(command, "UserKnownHostsFile", &quoted(&pin.known_hosts));
    option(command, "HostKeyAlias", &pin.alias);
    option(command, "HostKeyAlgorithms", pin.algorithms);
    for (name, value) in [
        ("GlobalKnownHostsFile", "/dev/null"),
        ("KnownHostsCommand", "none"),
        ("StrictHostKeyChecking", "yes"),
    ] {
        option(command, name, value);
    }
    own_connection(command);
}

/// Neither through somebody else's open connection, which has its own idea of the host's key, nor left open for others.
pub(crate) fn own_connection(command: &mut Command) {
    for (name, value) in [
        ("VerifyHostKeyDNS", "no"),
        ("CheckHostIP", "no"),
        ("UpdateHostKeys", "no"),
        ("HashKnownHosts", "no"),
    ] {
        option(command, name, value);
    }
    unshared(command);
}

fn unshared(command: &mut Command) {
    option(command, "ControlMaster", "no");
    option(command, "ControlPath", "none");
}

fn log_in(command: &mut Command, login: &SshLogin) {
    match login {
        SshLogin::Configured => {}
        SshLogin::Identity(key) => {
            option(command, "IdentityFile", &quoted(key));
            for (name, value) in [
                ("IdentitiesOnly", "yes"),
                ("IdentityAgent", "none"),
                ("PreferredAuthentications", "publickey"),
            ] {
                option(command, name, value);
            }
            without_prompts(command);
        }
        SshLogin::Askpass(asked) => {
            let methods = "publickey,password,keyboard-interactive";
            option(command, "PreferredAuthentications", methods);
            option(command, "NumberOfPasswordPrompts", "1");
            command
                .env("SSH_ASKPASS", &asked.program)
                .env("SSH_ASKPASS_REQUIRE", "force")
                .env(crate::askpass::SOCKET, &asked.socket);
        }
    }
}

/// A jump host's ssh is not in batch mode, and must not ask on the terminal behind our back.
pub(crate) fn without_prompts(command: &mut Command) {
    command
        .env("SSH_ASKPASS", "false")
        .env("SSH_ASKPASS_REQUIRE", "force");
}

pub(crate) fn option(command: &mut Command, name: &str, value: &str) {
    command.arg("-o").arg(format!("{name}={value}"));
}

/// ssh takes a file's name apart at spaces and expands % in it.
pub(crate) fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
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
            "ssh://[fd00::7]",
            "ssh://spark-b/",
            "192.0.2.7",
            "fd00::7",
        ] {
            assert!(name.parse::<SshDestination>().is_ok(), "{name}");
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
            "ssh://alice@spark-b:22/x",
            "ssh://spark-b:ssh",
            "ssh://[fd00::7]:0",
        ] {
            assert!(name.parse::<SshDestination>().is_err(), "{name}");
        }
    }

    #[test]
    fn the_name_is_told_from_what_is_around_it() {
        for (text, host, written) in [
            ("spark-b", "spark-b", (None, None)),
            ("alice@spark-b", "spark-b", (Some("alice"), None)),
            (
                "ssh://alice@spark-b:2222",
                "spark-b",
                (Some("alice"), Some(2222)),
            ),
            ("ssh://[fd00::7]:22", "fd00::7", (None, Some(22))),
            ("fd00::7", "fd00::7", (None, None)),
        ] {
            let destination: SshDestination = text.parse().unwrap();
            assert_eq!(destination.host(), host);
            assert_eq!(destination.written(), written, "{text}");
        }
    }

    #[test]
    fn a_pinned_key_is_the_only_one() {
        let options = SshOptions {
            config: None,
            prompts: false,
            connect: Duration::from_secs(10),
            alone: false,
            pin: Some(PinnedHostKey {
                known_hosts: "/tmp/a b/known".into(),
                alias: "spark-b".to_owned(),
                algorithms: "ssh-ed25519",
            }),
            login: SshLogin::Askpass(AskpassRelay {
                program: "/bin/crosstie".into(),
                socket: "/tmp/socket".into(),
            }),
        };
        let command = command(&"spark-b".parse().unwrap(), &options);
        let arguments: Vec<_> = command
            .get_args()
            .map(|argument| argument.to_str().unwrap())
            .collect();
        for expected in [
            "UserKnownHostsFile=\"/tmp/a b/known\"",
            "GlobalKnownHostsFile=/dev/null",
            "StrictHostKeyChecking=yes",
            "HostKeyAlias=spark-b",
            "ControlPath=none",
            "BatchMode=no",
            "NumberOfPasswordPrompts=1",
        ] {
            assert!(arguments.contains(&expected), "{arguments:?}");
        }
    }

    #[test]
    fn host_keys_are_never_trusted_for_the_user() {
        for prompts in [false, true] {
            let options = SshOptions {
                config: Some("lab/ssh_config".into()),
                prompts,
                connect: Duration::from_secs(10),
                alone: false,
                pin: None,
                login: SshLogin::Configured,
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
