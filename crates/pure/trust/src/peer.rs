//! The lines that let one party into another, and that make it find the way.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::{Name, Owner, PublicKey, UserName};

/// A key that is let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authorized {
    pub owner: Owner,
    /// Absent while the key is still to be made, which is so in a rehearsal only.
    pub key: Option<PublicKey>,
}

impl Authorized {
    /// The line of `authorized_keys`.
    pub fn line(&self) -> Option<String> {
        let key = self.key.as_ref()?;
        Some(format!("{key} crosstie:{}", self.owner))
    }
}

/// A machine that is logged in to, as seen from one that logs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    pub name: Name,
    /// Its other names, and its addresses.
    pub aliases: Vec<Name>,
    /// Where its names lead to; absent where the user's own configuration or the resolver knows.
    pub address: Option<Name>,
    pub user: Option<UserName>,
    pub port: Option<u16>,
    pub host_key: PublicKey,
}

/// Ours, from top to bottom: whatever it says goes before what the user's own file says.
pub fn config(peers: &[Peer]) -> String {
    let mut text =
        "# Written by crosstie trust, and written anew by the next one; `crosstie trust --undo` removes it.\n".to_owned();
    for peer in peers {
        let name = &peer.name;
        // An address of the peer's is a name of its own here, and must lead to itself.
        let (numbers, names): (Vec<&Name>, Vec<&Name>) = peer
            .aliases
            .iter()
            .partition(|alias| alias.as_str().parse::<std::net::IpAddr>().is_ok());
        let joined = |names: &[&Name]| {
            names
                .iter()
                .fold(String::new(), |text, name| format!("{text} {name}"))
        };
        // Writing to a String cannot fail.
        let _ = write!(text, "\nHost {name}{}\n", joined(&names));
        if let Some(address) = &peer.address {
            let _ = writeln!(text, "  HostName {address}");
        }
        let _ = write!(
            text,
            "Host {name}{}{}\n  HostKeyAlias {name}\n",
            joined(&names),
            joined(&numbers)
        );
        if let Some(user) = &peer.user {
            let _ = writeln!(text, "  User {user}");
        }
        if let Some(port) = peer.port {
            let _ = writeln!(text, "  Port {port}");
        }
        text.push_str(
            "  IdentityFile ~/.ssh/crosstie/id_ed25519\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile ~/.ssh/crosstie/known_hosts\n  GlobalKnownHostsFile none\n  \
             StrictHostKeyChecking yes\n  UpdateHostKeys no\n  CheckHostIP no\n",
        );
    }
    text
}

/// The keys that are pinned, each under its peer's `HostKeyAlias`.
pub fn known_hosts(peers: &[Peer]) -> String {
    peers.iter().fold(String::new(), |mut text, peer| {
        let _ = writeln!(text, "{} {}", peer.name, peer.host_key);
        text
    })
}
