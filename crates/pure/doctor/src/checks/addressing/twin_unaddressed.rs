//! One twin has an IPv4 address and the other has none.

use crosstie_model::{Severity, spec::TwinAddresses};

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, ExaminedPort, explains,
    terms::{address_source, has_ipv4, roce_cages},
    word,
};

pub(super) const CHECK: Check = Check {
    id: "twin-unaddressed",
    title: "One twin of a cage has an IPv4 address and the other has none",
    severity: "info (warning with a cluster file)",
    fires: "Of two twins of one cage one has an IPv4 address and the other has none, and the cluster file does not ask \
        for that. A warning where the cluster file plans an address for it.",
    reads: &["ip addr show", "cluster.toml"],
    cause: "only one of the two interfaces of the cage was configured",
    meaning: "Engines that use both twins fall back on the second one's link-local GID. That works where all nodes are \
        on one flat network, cabled directly or through one switch, and nowhere else.",
    fix: "Give the second twin an address in a subnet of its own.",
    verify: "`ip addr show` lists an address on both interfaces, and NCCL's log names no GID that begins with fe80.",
    explained_by: &[
        explains("bonded-rdma", CauseScope::Cage),
        explains("twin-down", CauseScope::Port),
        explains("cable-dead", CauseScope::Cable),
        explains("fabric-port-down", CauseScope::Port),
    ],
    run: CheckFunctions::node(run),
};

const LOST: &str =
    "the address that the cluster file plans was taken away, or the plan was never applied";

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let first_only = node
        .spec
        .is_some_and(|spec| spec.fabric.twin_addresses == TwinAddresses::First);
    roce_cages(node)
        .into_iter()
        .filter(|twins| !(first_only && twins[0].named))
        .flat_map(|twins| {
            let (with, without): (Vec<&ExaminedPort>, Vec<&ExaminedPort>) = twins
                .into_iter()
                .filter(|port| port.netdev.is_some())
                .partition(|port| has_ipv4(port));
            let addressed = with.first().map(|port| port.label().to_owned());
            let hits = without.into_iter().filter_map(move |port| {
                let addressed = addressed.as_deref()?;
                let planned = node.planned.get(port.label());
                let severity = match planned {
                    Some(_) => Severity::Warning,
                    None => Severity::Info,
                };
                let hit = CheckHit::new(severity, port.label())
                    .saw("IPv4 addresses", "none", address_source(port.label()))
                    .saw("twin with an address", addressed, address_source(addressed));
                Some(match planned {
                    Some(address) => hit
                        .saw("address that is planned", address, "cluster.toml")
                        .cause(LOST)
                        .advice("Give the interface its planned address again: `crosstie apply` does, and writes it down.")
                        .command(format!(
                            "sudo ip addr add {address} dev {}",
                            word(port.label())
                        )),
                    None => hit,
                })
            });
            hits.collect::<Vec<_>>()
        })
        .collect()
}
