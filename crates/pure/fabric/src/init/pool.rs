//! A private network that nobody uses.

use crosstie_model::Facts;
use ipnet::{IpNet, Ipv4Net};
use std::net::Ipv4Addr;

const PREFIX: u8 = 16;

/// The first of our candidates that overlaps no address and no route of any node. Default routes are everywhere and take
/// nothing.
pub fn free_pool<'a>(nodes: impl Iterator<Item = &'a Facts>) -> Option<Ipv4Net> {
    let taken: Vec<Ipv4Net> = nodes.flat_map(networks).collect();
    candidates().find(|pool| {
        !taken
            .iter()
            .any(|net| net.contains(pool) || pool.contains(net))
    })
}

fn networks(facts: &Facts) -> Vec<Ipv4Net> {
    let addresses = facts.network.interfaces.iter();
    let addresses = addresses.flat_map(|interface| interface.addresses.iter().map(|own| own.net));
    let routes = facts.network.routes.known().into_iter().flatten();
    let routes = routes.filter_map(|route| route.destination);
    let gateways = facts.network.routes.known().into_iter().flatten();
    let gateways = gateways.filter_map(|route| route.gateway.map(IpNet::from));
    addresses
        .chain(routes)
        .chain(gateways)
        .filter_map(|net| match net {
            IpNet::V4(net) if net.prefix_len() > 0 => Some(net.trunc()),
            _ => None,
        })
        .collect()
}

/// RFC 1918, beginning where few others do.
fn candidates() -> impl Iterator<Item = Ipv4Net> {
    let ten = (77..=254)
        .chain(1..77)
        .map(|second| Ipv4Addr::new(10, second, 0, 0));
    let hundred = (16..=31)
        .rev()
        .map(|second| Ipv4Addr::new(172, second, 0, 0));
    ten.chain(hundred)
        .chain([Ipv4Addr::new(192, 168, 0, 0)])
        .filter_map(|start| Ipv4Net::new(start, PREFIX).ok())
}
