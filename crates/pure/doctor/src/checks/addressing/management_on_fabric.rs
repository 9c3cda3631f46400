//! The node is reached over the very network that is under test.

use crosstie_model::{Facts, facts::net::Interface};

use crate::{
    Check, Hit, Node, Run, is_link_local,
    terms::{addresses_known, fabric_names, listed, roce, stack},
};

pub(super) const CHECK: Check = Check {
    id: "management-on-fabric",
    title: "The node has no management network apart from the fabric",
    severity: "warning",
    fires: "The default route leaves through a RoCE fabric port, or no interface outside the fabric has an address.",
    reads: &["ip route show", "ip addr show"],
    cause: "only the fast port is cabled, or the fabric port was given the gateway",
    meaning: "Whatever breaks the fabric (a wrong MTU, a pulled cable, a storm of pause frames) also takes away the way \
        in to mend it. Ordinary traffic shares the port with RDMA, without its priority.",
    fix: "Cable a second, ordinary port as the management network, and take the gateway off the fabric port.",
    verify: "`ip route show default` names an interface that is not part of the fabric.",
    run: Run::Node(run),
};

fn run(node: &Node) -> Vec<Hit> {
    let routes = node.facts.network.routes.known().into_iter().flatten();
    let gateways: Vec<&str> = routes
        .filter(|route| route.destination.is_none() && route.table == "main")
        .filter_map(|route| route.interface.as_deref())
        .collect();
    let mut hits: Vec<Hit> = roce(node)
        .filter_map(|port| {
            let name = &port.netdev?.name;
            let above = stack(node.facts, name);
            let interface = gateways.iter().find(|gateway| above.contains(**gateway))?;
            let value = format!("dev {interface}");
            Some(Hit::warning(name).saw("default route", value, "ip route show default"))
        })
        .collect();
    if hits.is_empty() && gateways.is_empty() {
        hits.extend(no_other_way_in(node));
    }
    hits
}

fn no_other_way_in(node: &Node) -> Option<Hit> {
    let ports: Vec<&str> = roce(node).map(crate::FabricPort::label).collect();
    if ports.is_empty() || !addresses_known(node.facts) {
        return None;
    }
    let fabric = fabric_names(node);
    let mut others = node.facts.network.interfaces.iter().filter(|interface| {
        !fabric.contains(interface.name.as_str()) && is_way_in(node.facts, interface)
    });
    if others.next().is_some() {
        return None;
    }
    let hit = Hit::warning(listed(&ports));
    Some(hit.saw("addresses outside the fabric", "none", "ip addr show"))
}

/// Hardware, or something above it, with an address. A bridge for containers leads nowhere.
fn is_way_in(facts: &Facts, interface: &Interface) -> bool {
    let members = || {
        let mut all = facts.network.interfaces.iter();
        all.any(|member| {
            member.master.known() == Some(&interface.name) && member.kind.known().is_none()
        })
    };
    let real = match interface.kind.known().map(String::as_str) {
        None => interface.name != "lo",
        Some("bridge") => members(),
        Some("dummy" | "veth" | "tun" | "wireguard" | "vxlan" | "vrf") => false,
        Some(_) => true,
    };
    let mut addresses = interface.addresses.iter();
    real && addresses.any(|address| !is_link_local(address.net.addr()))
}
