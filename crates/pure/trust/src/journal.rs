//! What was changed in a home directory, and how it was before.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{AuthorizedKey, MachineName, PublicKey, TrustedPeer};

pub const FORMAT: u32 = 1;

/// Written before the first change, so that each can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustJournal {
    pub format: u32,
    /// What was not there.
    #[serde(default)]
    pub made: BTreeSet<TrustFile>,
    #[serde(default)]
    pub modes: Vec<FileModeChange>,
    /// The last line of `authorized_keys` did not end.
    #[serde(default)]
    pub unterminated: bool,
    /// Lines in `authorized_keys` that are ours.
    #[serde(default)]
    pub authorized: Vec<AuthorizedKey>,
    /// Lines in `authorized_keys` that hold a key of `authorized` and stood there before it: they are not ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// What our configuration and known hosts are written from.
    #[serde(default)]
    pub peers: Vec<TrustedPeer>,
    /// On a controller: the nodes where something was, or may have been, changed.
    #[serde(default)]
    pub reached: Vec<TrustedNode>,
    /// Agents that were brought for this and not there before.
    #[serde(default)]
    pub agents: Vec<InstalledAgent>,
}

impl Default for TrustJournal {
    fn default() -> Self {
        Self {
            format: FORMAT,
            made: BTreeSet::new(),
            modes: Vec::new(),
            unterminated: false,
            authorized: Vec::new(),
            kept: Vec::new(),
            peers: Vec::new(),
            reached: Vec::new(),
            agents: Vec::new(),
        }
    }
}

/// The files and folders of a person's own that are touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustFile {
    Home,
    Ssh,
    AuthorizedKeys,
    Config,
}

impl TrustFile {
    pub const ALL: [Self; 4] = [Self::Home, Self::Ssh, Self::AuthorizedKeys, Self::Config];

    /// Below the home directory.
    pub fn path(self) -> &'static str {
        match self {
            Self::Home => "",
            Self::Ssh => ".ssh",
            Self::AuthorizedKeys => ".ssh/authorized_keys",
            Self::Config => ".ssh/config",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileModeChange {
    pub place: TrustFile,
    pub before: u32,
    pub after: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedNode {
    pub name: MachineName,
    /// As the person wrote it.
    pub destination: String,
    pub host_key: PublicKey,
    /// The others that were told of it.
    pub peers: BTreeSet<MachineName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstalledAgent {
    /// The folder of the agents.
    pub folder: String,
    /// The outermost that was not there: an agent, the folder, or one around it.
    pub outermost: String,
}

#[derive(Debug, Error)]
pub enum TrustJournalError {
    #[error("it is of format {0}, and this crosstie knows {FORMAT}: use the one that wrote it")]
    Format(u64),
    #[error("it cannot be understood")]
    Malformed(#[source] serde_json::Error),
}

impl TrustJournal {
    pub fn parse(text: &[u8]) -> Result<Self, TrustJournalError> {
        #[derive(Deserialize)]
        struct Version {
            format: u64,
        }
        let version: Version =
            serde_json::from_slice(text).map_err(TrustJournalError::Malformed)?;
        if version.format != u64::from(FORMAT) {
            return Err(TrustJournalError::Format(version.format));
        }
        serde_json::from_slice(text).map_err(TrustJournalError::Malformed)
    }

    pub fn to_text(&self) -> Result<String, TrustJournalError> {
        let text = serde_json::to_string_pretty(self).map_err(TrustJournalError::Malformed)?;
        Ok(text + "\n")
    }

    /// Nobody is let in, nobody is known and no node is left to undo.
    pub fn is_idle(&self) -> bool {
        self.authorized.is_empty() && self.peers.is_empty() && self.reached.is_empty()
    }

    /// Keeps what is known of others and replaces what is known of these. A name or an address is one machine's alone.
    pub fn know(&mut self, peers: &[TrustedPeer]) {
        for peer in peers {
            for other in self
                .peers
                .iter_mut()
                .filter(|other| other.name != peer.name)
            {
                other.aliases.retain(|alias| !peer.aliases.contains(alias));
            }
            match self.peers.iter_mut().find(|known| known.name == peer.name) {
                Some(known) => known.clone_from(peer),
                None => self.peers.push(peer.clone()),
            }
        }
    }

    pub fn reach(&mut self, nodes: &[TrustedNode]) {
        for node in nodes {
            match self
                .reached
                .iter_mut()
                .find(|known| known.name == node.name)
            {
                Some(known) => {
                    known.destination.clone_from(&node.destination);
                    known.host_key.clone_from(&node.host_key);
                    known.peers.extend(node.peers.iter().cloned());
                }
                None => self.reached.push(node.clone()),
            }
        }
    }

    /// Forgets parties; the lines that let them in are the answer.
    pub fn forget(&mut self, names: &[MachineName]) -> Vec<AuthorizedKey> {
        self.peers.retain(|peer| !names.contains(&peer.name));
        self.reached.retain(|node| !names.contains(&node.name));
        for node in &mut self.reached {
            node.peers.retain(|peer| !names.contains(peer));
        }
        let (gone, kept) = std::mem::take(&mut self.authorized)
            .into_iter()
            .partition(|line: &AuthorizedKey| names.contains(&line.owner.name));
        self.authorized = kept;
        gone
    }
}
