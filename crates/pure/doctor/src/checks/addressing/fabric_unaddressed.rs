//! There are RoCE ports and none has an address.

use crosstie_model::facts::net::Interface;

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, ExaminedPort, explains,
    is_link_local,
    terms::{address_source, addresses_known, listed, roce, stack},
};

pub(super) const CHECK: Check = Check {
    id: "fabric-unaddressed",
    title: "No RoCE fabric port has an address",
    severity: "fault",
    fires: "A node has RoCE fabric ports, and neither they nor a VLAN, bond or bridge above them has an IPv4 or a global \
        IPv6 address.",
    reads: &["ip addr show"],
    cause: "the cable is in and the network was never configured",
    meaning: "RoCE v2 packets are IP packets: a port needs an address for peers to reach it. Without one there is only \
        the link-local GID, which most engines do not choose.",
    fix: "Plan addresses for the cluster and apply them: `crosstie init`, `crosstie plan`, `crosstie apply`.",
    verify: "`ip addr show` lists an address on each fabric interface, and the peers' addresses answer ping.",
    explained_by: &[
        explains("bonded-rdma", CauseScope::Cage),
        explains("cable-dead", CauseScope::Cable),
        explains("fabric-port-down", CauseScope::Port),
        explains("twin-down", CauseScope::Port),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let ports: Vec<&ExaminedPort> = roce(node).filter(|port| port.netdev.is_some()).collect();
    let silent = ports.is_empty()
        || !addresses_known(node.facts)
        || ports.iter().any(|port| has_address(node, port));
    if silent {
        return Vec::new();
    }
    let mut hit = CheckHit::fault(listed(ports.iter().map(|port| port.label())));
    for port in ports {
        let what = format!("addresses of {}", port.label());
        hit = hit.saw(what, "none", address_source(port.label()));
        if let Some(address) = node.planned.get(port.label()) {
            let what = format!("address that is planned for {}", port.label());
            hit = hit.saw(what, address, "cluster.toml");
        }
    }
    vec![hit]
}

fn has_address(node: &ExaminedNode, port: &ExaminedPort) -> bool {
    let usable = |interface: &Interface| {
        // What Open vSwitch does with its ports is not told by their interfaces.
        let foreign = interface
            .kind
            .known()
            .is_some_and(|kind| kind == "openvswitch");
        foreign
            || interface.addresses.iter().any(|address| {
                let address = address.net.addr();
                address.is_ipv4() || !is_link_local(address)
            })
    };
    let own = port.netdev.map(|netdev| netdev.name.as_str());
    let above = stack(node, own).into_iter();
    let mut above = above.filter_map(|name| node.facts.network.interface(name));
    port.addresses().iter().any(|(netdev, _)| usable(netdev)) || above.any(usable)
}
