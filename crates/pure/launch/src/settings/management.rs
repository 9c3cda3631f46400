//! Where every node can reach every other, whatever the fabric looks like: how engines find each other.

use std::net::IpAddr;

use crosstie_fabric::management;
use crosstie_model::{Facts, is_plain, plan::EngineKind};

use super::Settings;

pub(super) fn add(all: &mut Settings, facts: &Facts) {
    let Some(name) = management_interface(facts) else {
        let note = "no management interface is known, so NCCL_SOCKET_IFNAME is left to NCCL";
        all.notes.push(note.to_owned());
        return;
    };
    let why = "start-up talk goes over management, which reaches every node";
    all.add(
        EngineKind::Nccl,
        "NCCL_SOCKET_IFNAME",
        &format!("={name}"),
        why,
    );
    let why_gloo = "without it Gloo takes what the host name resolves to, often 127.0.1.1";
    all.add(EngineKind::Gloo, "GLOO_SOCKET_IFNAME", &name, why_gloo);
    all.add(EngineKind::Gloo, "TP_SOCKET_IFNAME", &name, why);
    all.add(
        EngineKind::OpenMpi,
        "OMPI_MCA_btl_tcp_if_include",
        &name,
        why,
    );
    all.add(
        EngineKind::OpenMpi,
        "OMPI_MCA_oob_tcp_if_include",
        &name,
        why,
    );
    let Some(address) = address_of(facts, &name) else {
        return;
    };
    let address = address.to_string();
    let why = "the address at which the other nodes find this one; else it is guessed from a route";
    all.add(
        EngineKind::Ray,
        "RAY_OVERRIDE_NODE_IP_ADDRESS",
        &address,
        why,
    );
    all.add(EngineKind::Vllm, "VLLM_HOST_IP", &address, why);
    all.add(EngineKind::Sglang, "SGLANG_HOST_IP", &address, why);
}

/// The best default route's, else the first that is management; only one whose name any format can hold.
pub fn management_interface(facts: &Facts) -> Option<String> {
    let routes = facts.network.routes.known().into_iter().flatten();
    let default = routes
        .filter(|route| route.destination.is_none())
        .filter(|route| route.interface.is_some())
        .min_by_key(|route| route.metric);
    let name = default
        .and_then(|route| route.interface.clone())
        .or_else(|| management(facts).into_iter().next());
    name.filter(|name| is_plain(name))
}

/// The one at which other nodes find this one.
pub fn management_address(facts: &Facts) -> Option<IpAddr> {
    address_of(facts, &management_interface(facts)?)
}

/// IPv4 first: every engine takes it. Addresses of the link alone need an interface's name beside them.
fn address_of(facts: &Facts, interface: &str) -> Option<IpAddr> {
    let addresses = &facts.network.interface(interface)?.addresses;
    let mut global = addresses.iter().filter(|address| address.scope == "global");
    let first = global.clone().next();
    let address = global
        .find(|address| address.net.addr().is_ipv4())
        .or(first);
    address.map(|address| address.net.addr())
}
