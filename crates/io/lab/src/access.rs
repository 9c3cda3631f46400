//! Ways into the nodes: keys, pinned host keys, an ssh configuration.

use std::fmt::Write;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::error::LabError;
use crate::profile::LabProfile;
use crate::qemu::NodeFilePaths;
use crate::{process, tools};

pub(crate) const KEY: &str = "key";
pub(crate) const KEY_PUBLIC: &str = "key.pub";
pub(crate) const SSH_CONFIG: &str = "ssh_config";
const KNOWN_HOSTS: &str = "known_hosts";
const USER: &str = "lab";
/// ssh's own choice, safe from computers that are yet to be built, takes a tenth of a second of both ends at each login.
const KEY_EXCHANGE: &str = "curve25519-sha256";
/// Half the processor time of ssh's own choice, on emulated nodes too.
const CIPHER: &str = "aes128-gcm@openssh.com";
const KEY_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes an Ed25519 key pair at `path` and `path.pub`.
pub(crate) fn make_key(path: &Path, comment: &str) -> Result<(), LabError> {
    let mut command = Command::new("ssh-keygen");
    command
        .args(["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f"])
        .arg(path);
    tools::output(&mut command, KEY_TIMEOUT)?;
    Ok(())
}

/// `count` random bytes as hexadecimal.
pub(crate) fn random_hex(count: usize) -> Result<String, LabError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = vec![0; count];
    std::fs::File::open(path)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(LabError::disk("read", path))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Writes `ssh_config` and `known_hosts`; every host key was made here, so none is taken on trust.
pub(crate) fn write_ssh_files(
    directory: &Path,
    profile: &LabProfile,
    ports: &[u16],
) -> std::io::Result<()> {
    let mut hosts = String::new();
    for node in &profile.nodes {
        let key = std::fs::read_to_string(directory.join(NodeFilePaths(&node.name).host_key()))?;
        let fields: Vec<&str> = key.split_whitespace().take(2).collect();
        let _ = writeln!(hosts, "{} {}", node.name, fields.join(" "));
    }
    std::fs::write(directory.join(KNOWN_HOSTS), hosts)?;
    std::fs::write(
        directory.join(SSH_CONFIG),
        ssh_config(directory, profile, ports),
    )
}

fn ssh_config(directory: &Path, profile: &LabProfile, ports: &[u16]) -> String {
    // ssh expands % in these values.
    let path = |name: &str| {
        let path = directory.join(name).display().to_string();
        path.replace('%', "%%")
    };
    let mut text = String::new();
    for (node, port) in profile.nodes.iter().zip(ports) {
        let _ = writeln!(
            text,
            "Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  HostKeyAlias {name}\n",
            name = node.name
        );
    }
    let _ = writeln!(
        text,
        "Host {names}\n  User {USER}\n  IdentityFile \"{key}\"\n  IdentitiesOnly yes\n  \
         UserKnownHostsFile \"{known}\"\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  \
         CheckHostIP no\n  KexAlgorithms {KEY_EXCHANGE}\n  Ciphers ^{CIPHER}\n  ConnectTimeout 30\n  LogLevel ERROR",
        names = profile
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .collect::<Vec<_>>()
            .join(" "),
        key = path(KEY),
        known = path(KNOWN_HOSTS),
    );
    text
}

/// An ssh command to a node; `user` overrides the configured one.
pub(crate) fn ssh(directory: &Path, node: &str, user: Option<&str>) -> Command {
    let mut command = Command::new("ssh");
    command.arg("-F").arg(directory.join(SSH_CONFIG));
    if let Some(user) = user {
        command.args(["-l", user]);
    }
    command.arg(node);
    command
}

/// Runs a command over a connection that is kept for the next one: to log in takes an emulated node two seconds. The
/// connection's process is one of the lab's, and ends with it.
pub(crate) fn shared(
    directory: &Path,
    node: &str,
    user: Option<&str>,
    arguments: &[String],
) -> Command {
    let mut command = ssh(directory, node, user);
    command
        .env(process::VARIABLE, directory)
        // Relative: a unix socket's path has 108 bytes.
        .current_dir(directory)
        .args(["-o", "ControlMaster=auto", "-o", "ControlPersist=yes", "-S"])
        .arg(control_path(node, user))
        .args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=6"])
        .arg("--")
        .arg(quote(arguments));
    command
}

/// Ends the kept connections to a node.
pub(crate) fn hang_up(directory: &Path, node: &str) {
    for user in [None, Some("root")] {
        let path = control_path(node, user);
        if directory.join(&path).exists() {
            let mut command = Command::new("ssh");
            command
                .current_dir(directory)
                .args(["-O", "exit", "-S", &path, node]);
            // It may have ended by itself.
            let _ = tools::run(&mut command, KEY_TIMEOUT);
            let _ = std::fs::remove_file(directory.join(path));
        }
    }
}

fn control_path(node: &str, user: Option<&str>) -> String {
    format!("{node}.{}.ssh", user.unwrap_or(USER))
}

/// Arguments as one line for the remote shell, each kept as it is.
pub(crate) fn quote(arguments: &[String]) -> String {
    arguments
        .iter()
        .map(|argument| {
            let plain = !argument.is_empty()
                && argument
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte));
            if plain {
                argument.clone()
            } else {
                format!("'{}'", argument.replace('\'', r"'\''"))
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn arguments_survive_the_remote_shell() {
        let arguments = ["printf", "%s|", "a b", "it's", "$HOME", "", "x;y"].map(str::to_owned);
        let shell = Command::new("sh")
            .args(["-c", &quote(&arguments)])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(shell.stdout).unwrap(),
            "a b|it's|$HOME||x;y|"
        );
    }

    #[test]
    fn the_configuration_pins_keys_and_forwards_nothing() {
        let profile = LabProfile::find("two-sparks").unwrap();
        let text = ssh_config(Path::new("/a b/100%"), &profile, &[2201, 2202]);
        assert!(text.contains("Host spark-b\n  HostName 127.0.0.1\n  Port 2202\n"));
        assert!(text.contains("IdentityFile \"/a b/100%%/key\""));
        assert!(text.contains("StrictHostKeyChecking yes"));
    }
}
