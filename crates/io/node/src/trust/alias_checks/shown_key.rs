//! Where a name leads, and the key that is shown there.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use crosstie_trust::{KeyKind, MachineName};

use super::AliasChecker;
use crate::command::{CommandLimits, run_to_end};

/// For the connection and the exchange of keys.
const CONNECT_TIMEOUT: &str = "4";
/// A loaded machine takes its time to start programs.
const SSH_TIMEOUT: Duration = Duration::from_secs(10);
/// Before a connection that was dropped is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(300);
const MAX_LOG: usize = 256 << 10;

/// What ssh makes of a name.
pub(super) struct ResolvedAlias {
    pub(super) host: String,
    pub(super) port: u16,
    /// What its known hosts call it, if the user said so.
    pub(super) host_key_alias: Option<String>,
    /// As ssh lists them: names with blanks are not told apart.
    pub(super) known_hosts: Vec<String>,
}

impl AliasChecker {
    /// `ssh -G`: nothing is connected to.
    pub(super) fn resolve(&self, alias: &MachineName) -> Option<ResolvedAlias> {
        let config = self.config.display().to_string();
        let arguments = ["-F", &config, "-T", "-G", "--", alias.as_str()];
        let bounds = self.bounds()?;
        let finished = run_to_end("ssh", &arguments, &[], bounds).ok()?;
        let output = String::from_utf8_lossy(&finished.output).into_owned();
        let value = |name: &str| {
            let mut lines = output.lines().filter_map(|line| line.split_once(' '));
            lines
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
        };
        let known_hosts = ["userknownhostsfile", "globalknownhostsfile"];
        Some(ResolvedAlias {
            host: value("hostname")?,
            port: value("port")?.parse().ok()?,
            host_key_alias: value("hostkeyalias"),
            known_hosts: known_hosts.into_iter().filter_map(value).collect(),
        })
    }

    /// The fingerprint of the key that is shown, and proven, at a name; of this kind if there is one, and by the user's
    /// port where none is given.
    pub(super) fn shown(
        &self,
        alias: &MachineName,
        port: Option<u16>,
        kind: KeyKind,
    ) -> Option<String> {
        let log = self.log(alias, port, kind)?;
        if let Some(key) = proven(&log) {
            return Some(key);
        }
        let dropped = [
            "kex_exchange_identification",
            "Connection closed by",
            "Connection reset by",
        ];
        if !dropped.iter().any(|words| log.contains(words)) {
            return None;
        }
        thread::sleep(RETRY_INTERVAL);
        proven(&self.log(alias, port, kind)?)
    }

    fn log(&self, alias: &MachineName, port: Option<u16>, kind: KeyKind) -> Option<String> {
        let number = self
            .files_made
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let log = self.scratch.path().join(format!("log-{number}"));
        let (config, log_path) = (self.config.display().to_string(), log.display().to_string());
        let mut arguments = vec![
            "-F", &config, "-T", "-a", "-x", "-n", "-e", "none", "-E", &log_path,
        ];
        let others = KeyKind::ALL.into_iter().filter(|other| *other != kind);
        let kinds: Vec<&str> = [kind]
            .into_iter()
            .chain(others)
            .map(KeyKind::algorithms)
            .collect();
        let options = [
            "BatchMode=yes".to_owned(),
            // Nobody logs in, so any key may be looked at.
            "PreferredAuthentications=none".to_owned(),
            "StrictHostKeyChecking=no".to_owned(),
            "UserKnownHostsFile=/dev/null".to_owned(),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            "KnownHostsCommand=none".to_owned(),
            "VerifyHostKeyDNS=no".to_owned(),
            "CheckHostIP=no".to_owned(),
            "UpdateHostKeys=no".to_owned(),
            "ControlMaster=no".to_owned(),
            "ControlPath=none".to_owned(),
            "ClearAllForwardings=yes".to_owned(),
            "RemoteCommand=none".to_owned(),
            "LogLevel=DEBUG1".to_owned(),
            format!("ConnectTimeout={CONNECT_TIMEOUT}"),
            format!("HostKeyAlgorithms={}", kinds.join(",")),
        ];
        let port = port.map(|port| format!("Port={port}"));
        for option in options.iter().chain(&port) {
            arguments.extend(["-o", option]);
        }
        arguments.extend(["--", alias.as_str(), "exit"]);
        // A jump host's ssh is not in batch mode, and must not ask on the terminal behind our back.
        let unasked = [("SSH_ASKPASS", "false"), ("SSH_ASKPASS_REQUIRE", "force")];
        let finished = run_to_end("ssh", &arguments, &unasked, self.bounds()?);
        let text = fs::read(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        finished.ok()?;
        Some(String::from_utf8_lossy(&text[..text.len().min(MAX_LOG)]).into_owned())
    }

    /// Nothing is begun when the time is up.
    pub(super) fn bounds(&self) -> Option<CommandLimits> {
        let left = self.until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| CommandLimits {
            deadline: SSH_TIMEOUT.min(left),
            output: MAX_LOG,
        })
    }
}

/// The key of a host that has signed with it: keys are in use only after that (`kex_send_newkeys`).
fn proven(log: &str) -> Option<String> {
    let mut lines = log.lines();
    let line = lines.find_map(|line| line.strip_prefix("debug1: Server host key: "))?;
    let (_, fingerprint) = line.trim_end().split_once(' ')?;
    let in_use = lines.any(|line| line.contains("SSH2_MSG_NEWKEYS"));
    in_use.then(|| fingerprint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_once_it_has_signed() {
        let shown = "debug1: x\r\ndebug1: Server host key: ssh-ed25519 SHA256:67Xc\r\n";
        assert_eq!(proven(shown), None);
        let signed = format!("{shown}debug1: SSH2_MSG_NEWKEYS sent\r\n");
        assert_eq!(proven(&signed), Some("SHA256:67Xc".to_owned()));
        assert_eq!(proven("debug1: SSH2_MSG_NEWKEYS sent\n"), None);
    }
}
