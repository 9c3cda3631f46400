//! A fabric port's only IPv4 address is a link-local one.

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, explains, is_link_local,
    terms::{address_source, roce},
};

pub(super) const CHECK: Check = Check {
    id: "fabric-address-link-local",
    title: "A fabric port's only IPv4 address is a link-local one",
    severity: "warning",
    fires: "All IPv4 addresses of a RoCE fabric port are in 169.254.0.0/16.",
    reads: &["ip addr show"],
    cause: "a network manager gave the interface an automatic address, for want of DHCP or a static one",
    meaning: "Link-local addresses are drawn at random and may change at every boot or link loss. What is written in \
        host files, cluster files and launch scripts then points nowhere. All interfaces share the one subnet \
        169.254.0.0/16, so the kernel cannot tell by the address which twin to use.",
    fix: "Give the interface a static address in a subnet of its own.",
    verify: "`ip addr show dev IF` lists an address outside 169.254.0.0/16, also after a reboot.",
    explained_by: &[
        explains("cable-dead", CauseScope::Cable),
        explains("fabric-port-down", CauseScope::Port),
        explains("twin-down", CauseScope::Port),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    roce(node)
        .filter_map(|port| {
            let mut addresses = port.addresses();
            addresses.retain(|(_, address)| address.net.addr().is_ipv4());
            let all = addresses
                .iter()
                .all(|(_, address)| is_link_local(address.net.addr()));
            let (netdev, address) = addresses.first().filter(|_| all)?;
            let source = address_source(&netdev.name);
            Some(CheckHit::warning(&netdev.name).saw("only IPv4 address", address.net, source))
        })
        .collect()
}
