//! The runtime network state of this node, kept before a change and restored after it.
//!
//! A snapshot holds what the kernel tells over netlink as it tells it, so that what has no text of its own (several next
//! hops, next-hop objects, encapsulations) survives. A restore compares first, changes what differs, and goes on past every
//! obstacle. Both act on the network namespace of the calling thread.
//!
//! Not restored: names of interfaces; settings of ports inside a bridge or bond, VLANs and forwarding entries of bridges;
//! neighbours, queueing disciplines, tunnels' keys, alternative names, transmit queue lengths; routes that came with a
//! router's announcement; addresses that the kernel makes by itself; a veth whose peer is in another namespace.

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

pub use obstacle::Obstacle;
pub use restore::{Restored, restore, restore_and_count};
pub use snapshot::snapshot;
pub use state::{NetworkState, Scope};
