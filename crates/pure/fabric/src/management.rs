//! Which interfaces a person depends on to reach the node.

use std::collections::{HashMap, HashSet};

use crosstie_model::{Facts, facts::net::IpRoute};

/// Interfaces that carry the default route or the ssh connection that we came by; where neither is known, those with
/// a global address and no RDMA.
pub fn management(facts: &Facts) -> Vec<String> {
    let network = &facts.network;
    let routes = network.routes.known().into_iter().flatten();
    let mut default: Vec<&IpRoute> = routes.filter(|route| route.destination.is_none()).collect();
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
        let ports = facts.rdma.iter().flat_map(|device| &device.ports);
        let fabric: HashSet<&String> = ports.filter_map(|port| port.netdev.known()).collect();
        let others = network.interfaces.iter().filter(|interface| {
            let mut addresses = interface.addresses.iter();
            addresses.any(|address| address.scope == "global") && !fabric.contains(&interface.name)
        });
        names = others.map(|interface| interface.name.clone()).collect();
    }
    names.sort_unstable();
    names.dedup();
    names.retain(|name| name != "lo");
    names
}

/// What management rests on.
pub struct ManagementInterfaces<'a> {
    carriers: HashSet<&'a str>,
}

impl<'a> ManagementInterfaces<'a> {
    pub fn new(facts: &'a Facts) -> Self {
        let interfaces = &facts.network.interfaces;
        let names: HashSet<String> = management(facts).into_iter().collect();
        let mut slaves: HashMap<&str, Vec<&str>> = HashMap::new();
        for interface in interfaces {
            if let Some(master) = interface.master.known() {
                slaves.entry(master).or_default().push(&interface.name);
            }
        }
        // From the interfaces themselves down to what they lie on, each passed once.
        let routes = facts.network.routes.known().into_iter().flatten();
        let by_route = routes.filter_map(|route| route.interface.as_deref());
        let all = interfaces.iter().map(|interface| interface.name.as_str());
        let mut frontier: Vec<&str> = all
            .chain(by_route)
            .filter(|name| names.contains(*name))
            .collect();
        let mut carriers = HashSet::new();
        while let Some(name) = frontier.pop() {
            if !carriers.insert(name) {
                continue;
            }
            let own = facts.network.interface(name);
            frontier.extend(own.and_then(|own| own.lower.known()).map(String::as_str));
            frontier.extend(slaves.get(name).into_iter().flatten());
        }
        Self { carriers }
    }

    /// Whether management would suffer if this interface went down: it is one of them, or lies below one.
    pub fn rests_on(&self, name: &str) -> bool {
        self.carriers.contains(name)
    }
}

/// [`ManagementInterfaces::rests_on`], for one interface.
pub fn carries_management(facts: &Facts, name: &str) -> bool {
    ManagementInterfaces::new(facts).rests_on(name)
}
