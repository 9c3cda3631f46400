//! Logins between nodes: what is written into which file, and how it is taken away again.
//!
//! Whatever a node says of itself (its user, its public key, its addresses) ends up in files that ssh and sshd obey, so
//! each is a type here that holds nothing but what it should, and is written from that type alone.

mod addresses;
mod claims;
mod journal;
mod key;
mod mesh;
mod name;
mod peer;
pub mod text;

pub use addresses::addresses;
pub use claims::{Alias, AliasCheck, PeerClaims, Refusal, UnwrittenAlias};
pub use journal::{AgentMade, FORMAT, Journal, JournalError, ModeChange, Place, Reached};
pub use key::{Fingerprint, FingerprintError, KeyError, KeyKind, PublicKey};
pub use mesh::{Party, peers_of};
pub use name::{Name, NameError, Owner, UserName};
pub use peer::{Authorized, Peer, config, known_hosts};

#[cfg(test)]
mod tests;
