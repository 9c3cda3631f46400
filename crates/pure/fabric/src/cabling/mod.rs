//! Which cage is wired to which: every port speaks, every port listens, and whoever is heard is on the same wire.
//!
//! Nothing on the ports has to be configured for it. A cage is one port of layer 2 for both its twins, so between two
//! cages every twin hears every twin: four hearings, one cable.

mod complete;
mod frame;
mod hearing;
mod note;
mod survey;
mod topology;

pub use complete::is_complete;
pub use frame::{BROADCAST, Decoded, ETHERTYPE, FRAME, Key, Sender, Token, decode, encode};
pub use hearing::{Heard, Listened, PortHeard, Probe};
pub use note::Note;
pub use survey::{Jack, Station, interfaces_to_probe, station};
pub use topology::{CageState, FoundCage, Wiring, wiring};
