//! Who is on the local links: what is asked of them, and what their answers mean.
//!
//! Anybody on a link may answer, so every answer is a stranger's: bounded, and checked before it is shown or used.

mod candidate;
pub mod dns;
mod echo;
mod hardware;
mod hosts;
mod name;
mod port;

pub use candidate::{
    CandidateAddress, DiscoveryAnswer, DiscoveryMethod, MAX_SIGHTINGS, NodeCandidate, OwnAddresses,
    candidates,
};
pub use echo::{echo_request, is_echo_reply};
pub use hardware::{mac_of, vendor};
pub use hosts::{MdnsHosts, SERVICES};
pub use name::MdnsHostName;
pub use port::{DiscoveryPort, NoSuchInterface, ports};
