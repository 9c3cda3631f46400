//! Virtual clusters on one machine.

pub mod hub;
pub mod profile;
mod socket;
