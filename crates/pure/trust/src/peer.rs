//! The lines that let one party into another, and that make it find the way.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::{KeyOwner, MachineName, PublicKey, UserName};

/// A key that is let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthorizedKey {
    pub owner: KeyOwner,
    /// Absent while the key is still to be made, which is so in a rehearsal only.
    pub key: Option<PublicKey>,
}

impl AuthorizedKey {
    /// The line of `authorized_keys`.
    pub fn line(&self) -> Option<String> {
        let key = self.key.as_ref()?;
        Some(format!("{key} crosstie:{}", self.owner))
    }
}

/// A machine that is logged in to, as seen from one that logs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedPeer {
    pub name: MachineName,
    /// The name is another's on this machine, so it is none in the configuration.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_withheld: bool,
    /// Host names and addresses at which this machine has seen the pinned key. They lead where they would lead anyway.
    pub aliases: Vec<MachineName>,
    /// Where its name leads to; absent where the user's own configuration or the resolver knows.
    pub address: Option<MachineName>,
    pub user: Option<UserName>,
    pub port: Option<u16>,
    pub host_key: PublicKey,
}

impl TrustedPeer {
    /// Every word that leads to it.
    pub fn patterns(&self) -> impl Iterator<Item = &MachineName> {
        let name = (!self.name_withheld).then_some(&self.name);
        name.into_iter().chain(&self.aliases)
    }
}

/// Ours, from top to bottom: whatever it says goes before what the user's own file says.
pub fn config(peers: &[TrustedPeer]) -> String {
    let mut text =
        "# Written by crosstie trust, and written anew by the next one; `crosstie trust --undo` removes it.\n".to_owned();
    for peer in peers {
        let name = &peer.name;
        // Writing to a String cannot fail.
        if let Some(address) = peer.address.as_ref().filter(|_| !peer.name_withheld) {
            let _ = write!(text, "\nHost {name}\n  HostName {address}\n");
        }
        // `Host` without a pattern is an error that stops ssh.
        if peer.patterns().next().is_none() {
            continue;
        }
        text.push_str("\nHost");
        for pattern in peer.patterns() {
            let _ = write!(text, " {pattern}");
        }
        let _ = write!(text, "\n  HostKeyAlias {name}\n");
        if let Some(user) = &peer.user {
            let _ = writeln!(text, "  User {user}");
        }
        if let Some(port) = peer.port {
            let _ = writeln!(text, "  Port {port}");
        }
        text.push_str(
            "  IdentityFile ~/.ssh/crosstie/id_ed25519\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile ~/.ssh/crosstie/known_hosts\n  GlobalKnownHostsFile /dev/null\n  \
             StrictHostKeyChecking yes\n  UpdateHostKeys no\n  CheckHostIP no\n  \
             KnownHostsCommand none\n  VerifyHostKeyDNS no\n",
        );
    }
    text
}

/// The keys that are pinned, each under its peer's `HostKeyAlias`.
pub fn known_hosts(peers: &[TrustedPeer]) -> String {
    peers.iter().fold(String::new(), |mut text, peer| {
        let _ = writeln!(text, "{} {}", peer.name, peer.host_key);
        text
    })
}
