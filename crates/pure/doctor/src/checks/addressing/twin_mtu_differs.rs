//! Twins of one cage have different MTUs.

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, explains,
    terms::{listed, netdev_file, roce_cages},
    word,
};

pub(super) const CHECK: Check = Check {
    id: "twin-mtu-differs",
    title: "The twins of one cage have different MTUs",
    severity: "warning",
    fires: "Two interfaces that share a cage report different MTUs.",
    reads: &["/sys/class/net/IF/mtu"],
    cause: "the MTU was set on one twin and the other was forgotten",
    meaning: "Both twins serve the same cable, and engines spread their traffic over both. With different MTUs one half \
        runs with smaller packets than the other, and large TCP frames that one twin sends may be dropped where the \
        peer mirrors the other's MTU.",
    fix: "Give both twins the larger MTU, and write it down for both.",
    verify: "`ip link show` says the same mtu for both interfaces.",
    explained_by: &[
        explains("mtu-small", CauseScope::Cage),
        explains("mtu-large", CauseScope::Cage),
        explains("twin-down", CauseScope::Cage),
        explains("cable-dead", CauseScope::Cable),
        explains("fabric-port-down", CauseScope::Cage),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    roce_cages(node)
        .into_iter()
        .filter_map(|twins| {
            let mtus: Vec<_> = twins
                .iter()
                .filter_map(|port| Some((port.netdev?.name.as_str(), *port.netdev?.mtu.known()?)))
                .collect();
            let largest = mtus.iter().map(|(_, mtu)| *mtu).max()?;
            let mut smaller = mtus.iter().filter(|(_, mtu)| *mtu < largest).peekable();
            smaller.peek()?;
            let mut hit = CheckHit::warning(listed(mtus.iter().map(|(name, _)| name)));
            for (name, mtu) in &mtus {
                hit = hit.saw(format!("MTU of {name}"), mtu, netdev_file(name, "mtu"));
            }
            for (name, _) in smaller {
                hit = hit.command(format!("sudo ip link set dev {} mtu {largest}", word(name)));
            }
            Some(hit)
        })
        .collect()
}
