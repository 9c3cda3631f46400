//! The two ends of a cable are in different subnets.

use crate::{
    CagePair, CagePairEnd, CauseScope, Check, CheckFunctions, CheckHit, ExaminedPort, explains,
    terms::{address_source, is_single},
};

pub(super) const CHECK: Check = Check {
    id: "subnet-mismatch",
    title: "The two ends of a cable share no subnet",
    severity: "fault",
    fires: "Two cages are joined by a cable, both have ports with addresses, and on each side there is a port that shares \
        a subnet with no port of the other side.",
    reads: &["ip addr show"],
    cause: "an address was mistyped, the nodes were configured from different plans, or the cable is in another cage than \
        was planned",
    meaning: "Without a subnet in common each end sends what is meant for the other to its gateway, or nowhere. Ping \
        fails, and RDMA finds no path.",
    fix: "Put both ends of each cable, and each pair of twins across it, into one subnet; or move the cable to the cage \
        that was planned.",
    verify: "`ping -I IF PEER` gets its answers for each fabric interface.",
    explained_by: &[
        explains("twins-same-subnet", CauseScope::Cable),
        explains("fabric-address-link-local", CauseScope::Cable),
    ],
    run: CheckFunctions::pair(run),
};

fn run(pair: &CagePair) -> Vec<CheckHit> {
    if !pair.is_cable() {
        return Vec::new();
    }
    let (a, b) = (lonely(&pair.a, &pair.b), lonely(&pair.b, &pair.a));
    // A node with one port on the cable faces only one of the other's twins: that is by design.
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let mut hit = CheckHit::fault(pair.label());
    for (end, ports) in [(&pair.a, &a), (&pair.b, &b)] {
        for port in ports {
            for (netdev, address) in port.lasting_addresses() {
                let what = format!("address of {} on {}", netdev.name, end.node.name);
                hit = hit.saw(what, address.net, address_source(&netdev.name));
            }
        }
    }
    vec![hit]
}

/// Ports of one end with addresses of which none can speak to the other end. Prefixes of one address are routed.
fn lonely<'a>(end: &CagePairEnd<'a>, other: &CagePairEnd<'a>) -> Vec<&'a ExaminedPort<'a>> {
    let theirs: Vec<_> = other
        .ports()
        .filter(|port| port.is_roce())
        .flat_map(ExaminedPort::lasting_addresses)
        .collect();
    end.ports()
        .filter(|port| port.is_roce())
        .filter(|port| {
            let own = port.lasting_addresses();
            let routed = own.iter().any(|(_, address)| is_single(&address.net));
            let reaches = own.iter().any(|(_, own)| {
                let mut theirs = theirs.iter();
                theirs.any(|(_, other)| {
                    own.net.contains(&other.net.addr()) && other.net.contains(&own.net.addr())
                })
            });
            !own.is_empty() && !routed && !reaches
        })
        .collect()
}
