//! Half of a cage is asleep.

use crosstie_fabric::CageGrouping;

use super::{is_inactive, label, states, wake};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, port_file, word};

pub(super) const CHECK: Check = Check {
    id: "twin-down",
    title: "One of the two functions behind a cage is not active",
    severity: "fault",
    fires: "Two RDMA ports are known to share one cage (same `phys_switch_id` and `phys_port_name`, or grouped by the \
        cluster file); one is active and the other is not.",
    reads: &[
        "/sys/class/net/IF/{phys_switch_id,phys_port_name}",
        "/sys/class/infiniband/DEVICE/ports/PORT/state",
        "ip -j -d addr show",
    ],
    cause: "the twin's interface is down, or its function did not come up with the other's",
    meaning: "A DGX Spark serves each cage by two functions on separate PCIe links; each carries about half of what the \
        cable can. With one asleep the link light is on, ping works, and half the bandwidth is gone.",
    fix: "Take the twin's interface down and up again. If it stays down, restart the machine with the cable in.",
    verify: "Both devices of the cage are `ACTIVE` in `rdma link`.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let cages = node.cages.iter().enumerate();
    let sure = cages.filter(|(_, cage)| cage.active && cage.grouping != CageGrouping::Alone);
    sure.flat_map(|(index, _)| {
        let members: Vec<_> = node.members(index).collect();
        let awake = members.iter().find(|(_, port)| port.is_active()).copied();
        let asleep = members.into_iter().filter(|(_, port)| is_inactive(port));
        asleep.filter_map(move |(device, port)| {
            let (twin, twin_port) = awake?;
            let hit = states(CheckHit::fault(label(device, port)), device, port).saw(
                format!("state of its twin {}", label(twin, twin_port)),
                "ACTIVE",
                port_file(twin, twin_port, "state"),
            );
            Some(bounce(node, hit, port))
        })
    })
    .collect()
}

/// One cable lights both twins: an interface that is up without carrier is a matter of its function.
fn bounce(
    node: &ExaminedNode,
    hit: CheckHit,
    port: &crosstie_model::facts::rdma::RdmaPort,
) -> CheckHit {
    let netdev = node.netdev(port);
    let hit = wake(node, hit, port);
    match netdev {
        Some(netdev) if netdev.up.known() != Some(&false) => {
            let name = word(&netdev.name);
            hit.command(format!(
                "sudo ip link set dev {name} down && sudo ip link set dev {name} up"
            ))
        }
        _ => hit,
    }
}
