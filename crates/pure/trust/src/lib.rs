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
pub use claims::{AliasCheck, AliasRefusal, PeerAlias, PeerClaims, UnwrittenAlias};
pub use journal::{
    FORMAT, FileModeChange, InstalledAgent, TrustFile, TrustJournal, TrustJournalError, TrustedNode,
};
pub use key::{Fingerprint, FingerprintError, KeyKind, PublicKey, PublicKeyError};
pub use mesh::{TrustParty, peers_of};
pub use name::{KeyOwner, MachineName, MachineNameError, UserName};
pub use peer::{AuthorizedKey, TrustedPeer, config, known_hosts};

#[cfg(test)]
mod tests;
