//! The cluster file wants congestion notification and the card does not take part.

use super::switched;
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, terms::netdev_file, word};

pub(super) const CHECK: Check = Check {
    id: "ecn-off",
    title: "Congestion notification is off on the RDMA priority",
    severity: "warning",
    fires: "The cluster file has `ecn = true`, and the card's notification point or reaction point is off on the \
        cluster file's priority, on a port on a switch.",
    reads: &[
        "/sys/class/net/IF/ecn/roce_np/enable/PRIORITY",
        "/sys/class/net/IF/ecn/roce_rp/enable/PRIORITY",
    ],
    cause: "it was turned off on the card, or never on for this priority",
    meaning: "A switch marks packets when its queue grows. The receiving card (notification point) tells the sender, and \
        the sending card (reaction point) slows down. With either of them off, queues grow until priority flow control \
        stops whole links, and innocent traffic with them.",
    fix: "Turn both on for the RDMA priority on every node, and marking on in the switch.",
    verify: "Both files hold 1, and `np_cnp_sent` grows under load.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let qos = node.spec.and_then(|spec| spec.qos.as_ref());
    let Some(qos) = qos.filter(|qos| qos.ecn) else {
        return Vec::new();
    };
    switched(node)
        .filter_map(|(_, netdev)| {
            let points = [
                ("roce_np", &netdev.qos.ecn_notify),
                ("roce_rp", &netdev.qos.ecn_react),
            ];
            let off: Vec<&str> = points
                .into_iter()
                .filter(|(_, enabled)| {
                    let enabled = enabled.known();
                    enabled.and_then(|enabled| enabled.get(&qos.priority)) == Some(&false)
                })
                .map(|(point, _)| point)
                .collect();
            let hit = (!off.is_empty()).then(|| CheckHit::warning(&netdev.name))?;
            Some(off.into_iter().fold(hit, |hit, point| {
                let what = match point {
                    "roce_np" => "notification point",
                    _ => "reaction point",
                };
                let file = netdev_file(
                    &netdev.name,
                    &format!("ecn/{point}/enable/{}", qos.priority),
                );
                hit.command(format!("echo 1 | sudo tee {}", word(&file)))
                    .saw(what, 0, file)
            }))
        })
        .collect()
}
