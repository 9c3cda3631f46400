//! The node is reached over the very network that is under test.

use crosstie_model::facts::net::Interface;

use crate::{
    Check, CheckFunctions, CheckHit, ExaminedNode, is_link_local,
    terms::{addresses_known, fabric_names, gateway_through, listed, roce},
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
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let hits: Vec<CheckHit> = roce(node)
        .filter_map(|port| {
            let value = format!("dev {}", gateway_through(node, port)?);
            let hit = CheckHit::warning(port.label());
            Some(hit.saw("default route", value, "ip route show default"))
        })
        .collect();
    let routes = node.facts.network.routes.known().into_iter().flatten();
    let mut gateways = routes.filter(|route| route.destination.is_none() && route.table == "main");
    if hits.is_empty() && gateways.next().is_none() {
        return no_other_way_in(node).into_iter().collect();
    }
    hits
}

fn no_other_way_in(node: &ExaminedNode) -> Option<CheckHit> {
    let ports: Vec<&str> = roce(node).map(crate::ExaminedPort::label).collect();
    if ports.is_empty() || !addresses_known(node.facts) {
        return None;
    }
    let fabric = fabric_names(node);
    let mut others = node.facts.network.interfaces.iter().filter(|interface| {
        !fabric.contains(interface.name.as_str()) && is_way_in(node, interface)
    });
    if others.next().is_some() {
        return None;
    }
    let hit = CheckHit::warning(listed(&ports));
    Some(hit.saw("addresses outside the fabric", "none", "ip addr show"))
}

/// Hardware, or something above it, with an address. A bridge for containers leads nowhere.
fn is_way_in(node: &ExaminedNode, interface: &Interface) -> bool {
    let real = match interface.kind.known().map(String::as_str) {
        None => interface.name != "lo",
        Some("bridge") => node.index.has_hardware(&interface.name),
        Some("dummy" | "veth" | "tun" | "wireguard" | "vxlan" | "vrf") => false,
        Some(_) => true,
    };
    let mut addresses = interface.addresses.iter();
    real && addresses.any(|address| !is_link_local(address.net.addr()))
}
