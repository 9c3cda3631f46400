//! Which interfaces a person depends on to reach the node.

use crosstie_model::{
    Facts,
    facts::net::{Interface, Route},
};

/// Interfaces that carry the default route or the ssh connection that we came by; where neither is known, those with
/// a global address and no RDMA.
pub fn management(facts: &Facts) -> Vec<String> {
    let network = &facts.network;
    let routes = network.routes.known().into_iter().flatten();
    let mut default: Vec<&Route> = routes.filter(|route| route.destination.is_none()).collect();
    // A table of its own with a default route is how source rules are written: that is no way out for everybody.
    if default.iter().any(|route| route.table == "main") {
        default.retain(|route| route.table == "main");
    }
    let default = default
        .into_iter()
        .filter_map(|route| route.interface.clone());
    let ssh = network.interfaces.iter().filter(|interface| {
        let address = network.ssh_address.known();
        address.is_some_and(|address| {
            interface
                .addresses
                .iter()
                .any(|own| own.net.addr() == *address)
        })
    });
    let mut names: Vec<String> = default
        .chain(ssh.map(|interface| interface.name.clone()))
        .collect();
    if names.is_empty() {
        let others = network
            .interfaces
            .iter()
            .filter(|interface| is_plain(facts, interface));
        names = others.map(|interface| interface.name.clone()).collect();
    }
    names.sort_unstable();
    names.dedup();
    names.retain(|name| name != "lo");
    names
}

fn is_plain(facts: &Facts, interface: &Interface) -> bool {
    let rdma = facts.rdma.iter().flat_map(|device| &device.ports);
    let mut netdevs = rdma.filter_map(|port| port.netdev.known());
    interface
        .addresses
        .iter()
        .any(|address| address.scope == "global")
        && !netdevs.any(|name| *name == interface.name)
}

/// Whether management would suffer if this interface went down: it is one of them, or lies below one.
pub fn carries_management(facts: &Facts, name: &str) -> bool {
    let names = management(facts);
    let mut frontier = vec![name];
    let mut seen: Vec<&str> = Vec::new();
    while let Some(name) = frontier.pop() {
        if names.iter().any(|management| management == name) {
            return true;
        }
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let above = facts.network.interfaces.iter();
        let above = above.filter(|upper| upper.lower.known().is_some_and(|lower| lower == name));
        frontier.extend(above.map(|upper| upper.name.as_str()));
        let own = facts
            .network
            .interface(name)
            .and_then(|interface| interface.master.known());
        frontier.extend(own.map(String::as_str));
    }
    false
}
