//! The runtime network state of this node, kept before a change and restored after it.
//!
//! A snapshot holds what the kernel tells over netlink as it tells it, so that what has no text of its own (several next
//! hops, next-hop objects, encapsulations) survives. A restore compares first, changes what differs, and goes on past every
//! obstacle. Both act on the network namespace of the calling thread.
//!
//! Not restored: names of interfaces, alternative names and queueing disciplines; costs of a bridge's ports,
//! its VLANs and forwarding entries; options of a bond that its mode does not take at creation, and which port was its
//! primary; neighbours; IPsec; multicast routes; routes that came with a router's announcement, and temporary addresses; local
//! routes of the kernel; a veth whose peer is in another namespace; elements that a firewall's sets gathered at run time.

mod address;
mod firewall;
mod interfaces;
mod kernel;
mod link;
mod next_hop;
mod obstacle;
mod raw_message;
mod restore;
mod route;
mod rule;
mod snapshot;
mod state;
mod sysctl;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod without_change;

pub use obstacle::NetworkRestoreObstacle;
pub use restore::{NetworkRestoreResult, restore, restore_and_count};
pub use snapshot::snapshot;
pub use state::{NetworkState, SnapshotScope};
pub use without_change::WithoutChange;
