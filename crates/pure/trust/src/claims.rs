//! What a node says of itself, and what of it another machine believes: that at which it has seen the pinned key.

use std::{fmt, net::IpAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MachineName, PublicKey, TrustedPeer, UserName};

/// A machine that is logged in to, before the one that logs in has looked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerClaims {
    /// As the person calls it.
    pub name: MachineName,
    /// The key was seen at this name already, by way of the user's own configuration.
    pub name_seen: bool,
    /// What it calls itself.
    pub host_names: Vec<MachineName>,
    /// The nearest first.
    pub addresses: Vec<MachineName>,
    pub user: Option<UserName>,
    pub port: Option<u16>,
    pub host_key: PublicKey,
}

/// What a machine found at a name or an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AliasCheck {
    /// The pinned key is shown there.
    pub key_shown: bool,
    /// Why the name stays what it is.
    pub refusal: Option<AliasRefusal>,
}

impl AliasCheck {
    pub const SEEN: Self = Self {
        key_shown: true,
        refusal: None,
    };

    pub fn refused(refusal: AliasRefusal) -> Self {
        Self {
            key_shown: false,
            refusal: Some(refusal),
        }
    }
}

/// Why a name or an address is no alias of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AliasRefusal {
    NotSeen,
    AnotherKey,
    KnownHosts,
    /// Another node has it.
    Taken,
    /// ssh did not work, or there was no time left.
    Unchecked,
}

impl fmt::Display for AliasRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotSeen => "its key was not seen there",
            Self::AnotherKey => "another key is shown there",
            Self::KnownHosts => "known_hosts has another key for it",
            Self::Taken => "another node has this name",
            Self::Unchecked => "it could not be checked",
        })
    }
}

/// A name or an address under which a peer is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerAlias {
    #[schemars(with = "String")]
    pub peer: MachineName,
    #[schemars(with = "String")]
    pub alias: MachineName,
}

/// A name or an address that was not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnwrittenAlias {
    #[schemars(with = "String")]
    pub peer: MachineName,
    #[schemars(with = "String")]
    pub alias: MachineName,
    pub reason: AliasRefusal,
}

impl PeerClaims {
    /// Everything that has to be looked at, the person's name for it first.
    pub fn candidates(&self) -> Vec<&MachineName> {
        let name = (!self.name_seen).then_some(&self.name);
        let others = self.host_names.iter().chain(&self.addresses);
        name.into_iter().chain(others).collect()
    }

    /// What is written of it: nothing at all where it was seen nowhere.
    pub fn verified_peer(
        &self,
        check: impl Fn(&MachineName) -> AliasCheck,
    ) -> (Option<TrustedPeer>, Vec<UnwrittenAlias>) {
        let mut unwritten = Vec::new();
        let mut refuse = |alias: &MachineName, reason| {
            unwritten.push(UnwrittenAlias {
                peer: self.name.clone(),
                alias: alias.clone(),
                reason,
            });
        };
        let mut address = self
            .addresses
            .iter()
            .find(|address| check(address).key_shown)
            .cloned();
        let mut name_withheld = false;
        let is_address = self.name.as_str().parse::<IpAddr>().is_ok();
        if self.name_seen || (is_address && check(&self.name) == AliasCheck::SEEN) {
            // It leads where the user's own configuration says, or to itself.
            address = None;
        } else {
            let at_name = check(&self.name);
            let leads_nowhere = at_name.refusal == Some(AliasRefusal::NotSeen);
            if let Some(reason) = at_name.refusal
                && !(leads_nowhere && address.is_some())
            {
                name_withheld = true;
                address = None;
                refuse(&self.name, reason);
            }
        }
        let mut aliases: Vec<MachineName> = Vec::new();
        for alias in self.host_names.iter().chain(&self.addresses) {
            match check(alias).refusal {
                Some(reason) => refuse(alias, reason),
                None if aliases.contains(alias) => {}
                None => aliases.push(alias.clone()),
            }
        }
        let peer = (!name_withheld || !aliases.is_empty()).then(|| TrustedPeer {
            name: self.name.clone(),
            name_withheld,
            aliases,
            address,
            user: self.user.clone(),
            port: self.port,
            host_key: self.host_key.clone(),
        });
        (peer, unwritten)
    }
}
