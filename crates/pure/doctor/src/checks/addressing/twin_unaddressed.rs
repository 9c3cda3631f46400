//! One twin has an IPv4 address and the other has none.

use crosstie_model::spec::TwinAddresses;

use crate::{
    Check, FabricPort, Hit, Node, Run,
    terms::{address_source, has_ipv4, roce_cages},
};

pub(super) const CHECK: Check = Check {
    id: "twin-unaddressed",
    title: "One twin of a cage has an IPv4 address and the other has none",
    severity: "info",
    fires: "Of two twins of one cage one has an IPv4 address and the other has none, and the cluster file does not ask \
        for that.",
    reads: &["ip addr show"],
    cause: "only one of the two interfaces of the cage was configured",
    meaning: "Engines that use both twins fall back on the second one's link-local GID. That works where all nodes are \
        on one flat network, cabled directly or through one switch, and nowhere else.",
    fix: "Give the second twin an address in a subnet of its own.",
    verify: "`ip addr show` lists an address on both interfaces, and NCCL's log names no GID that begins with fe80.",
    run: Run::Node(run),
};

fn run(node: &Node) -> Vec<Hit> {
    let first_only = node
        .spec
        .is_some_and(|spec| spec.fabric.twin_addresses == TwinAddresses::First);
    roce_cages(node)
        .into_iter()
        .filter(|twins| !(first_only && twins[0].named))
        .flat_map(|twins| {
            let (with, without): (Vec<&FabricPort>, Vec<&FabricPort>) = twins
                .into_iter()
                .filter(|port| port.netdev.is_some())
                .partition(|port| has_ipv4(port));
            let addressed = with.first().map(|port| port.label().to_owned());
            let hits = without.into_iter().filter_map(move |port| {
                let addressed = addressed.as_deref()?;
                Some(
                    Hit::info(port.label())
                        .saw("IPv4 addresses", "none", address_source(port.label()))
                        .saw("twin with an address", addressed, address_source(addressed)),
                )
            });
            hits.collect::<Vec<_>>()
        })
        .collect()
}
