//! How others see that a node can still be reached.

use std::net::SocketAddr;

use crosstie_fabric::management;
use crosstie_model::{Facts, change::Probe, plan::global_addresses};

/// What others reach of a node as long as its management works: its ssh server.
pub(crate) fn greetings(facts: &Facts, port: u16) -> Vec<Probe> {
    let interfaces = management(facts);
    let interfaces = interfaces
        .iter()
        .filter_map(|name| facts.network.interface(name));
    let addresses = interfaces.flat_map(global_addresses);
    let addresses = addresses.map(|network| SocketAddr::new(network.addr(), port));
    addresses
        .map(|address| Probe::Greeting { address })
        .collect()
}

/// For a sentence.
pub(super) fn words(probe: &Probe) -> String {
    match probe {
        Probe::Ping {
            address, interface, ..
        } => match interface {
            Some(interface) => format!("{address} through {interface}"),
            None => address.to_string(),
        },
        Probe::Greeting { address } => format!("the ssh server at {address}"),
    }
}
