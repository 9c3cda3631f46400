//! Nothing puts the cluster's DSCP on RDMA packets.

use crosstie_fabric::nccl::integer;
use crosstie_model::Reading;

use super::switched;
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, word};

/// The lowest bits of a traffic class that say "may be marked by a switch" (ECT(0), RFC 3168).
const ECN_CAPABLE: u8 = 2;

pub(super) const CHECK: Check = Check {
    id: "traffic-class-unset",
    title: "Nothing puts the cluster's DSCP on RDMA packets",
    severity: "warning",
    fires: "The cluster file sets a DSCP, and for a port on a switch neither the driver's `traffic_class` nor NCCL's \
        `NCCL_IB_TC` gives it. A traffic class is the DSCP times four, plus two bits that do not matter here.",
    reads: &["/sys/class/infiniband/DEV/tc/P/traffic_class", "NCCL_IB_TC"],
    cause: "the traffic class was left at its default of 0",
    meaning: "Switch and card sort RDMA packets by their DSCP. The card writes whatever traffic class the queue pair was \
        given, which is 0 unless the driver or the application says otherwise. Then all RDMA traffic goes through the \
        ordinary queue, and flow control and congestion marking on the special one do nothing.",
    fix: "Set the traffic class in the driver, for all programs, or in NCCL's settings. DSCP 26 is 104 or 106.",
    verify: "A capture on the peer, or the switch's counters, show the packets with the cluster's DSCP.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let Some(qos) = node.spec.and_then(|spec| spec.qos.as_ref()) else {
        return Vec::new();
    };
    let gives = |class: i64| class >> 2 == i64::from(qos.dscp);
    let setting = node.facts.nccl.effective("NCCL_IB_TC");
    let of_nccl = setting.and_then(|setting| integer(&setting.value));
    if of_nccl.is_some_and(gives) {
        return Vec::new();
    }
    let wanted = qos.dscp << 2 | ECN_CAPABLE;
    switched(node)
        .filter_map(|(port, _)| {
            let file = format!(
                "/sys/class/infiniband/{}/tc/{}/traffic_class",
                port.device.name, port.port.number
            );
            let (shown, command) = match port.port.traffic_class {
                Reading::Value(class) if gives(class.into()) => return None,
                Reading::Value(class) => (
                    class.to_string(),
                    format!("echo {wanted} | sudo tee {}", word(&file)),
                ),
                // The kernel's own driver has no such file and sends 0.
                Reading::Absent if gives(0) => return None,
                Reading::Absent => (
                    "not set".to_owned(),
                    format!("echo NCCL_IB_TC={wanted} | sudo tee -a /etc/nccl.conf"),
                ),
                _ => return None,
            };
            let hit = CheckHit::warning(&port.device.name)
                .saw("traffic class of the driver", shown, file)
                .saw("DSCP of RDMA", qos.dscp, "cluster file");
            let hit = match setting {
                Some(setting) => hit.saw("NCCL_IB_TC", &setting.value, &*setting.source),
                None => hit.saw("NCCL_IB_TC", "not set", "environment, nccl.conf"),
            };
            Some(hit.command(command))
        })
        .collect()
}
