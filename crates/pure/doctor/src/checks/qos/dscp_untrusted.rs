//! The port sorts packets by VLAN tag while the cluster marks them by DSCP.

use super::switched;
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, terms::netdev_file, word};

pub(super) const CHECK: Check = Check {
    id: "dscp-untrusted",
    title: "The port does not look at the DSCP by which the cluster marks RDMA",
    severity: "warning",
    fires: "The cluster file sets a DSCP, and the trust mode of a port on a switch is `pcp`.",
    reads: &["/sys/class/net/IF/qos/trust", "dcb app show dev IF"],
    cause: "trust in the VLAN tag's priority is the driver's default",
    meaning: "A port sorts packets into priorities by the VLAN tag (pcp) or by the DSCP in the IP header. Untagged RoCE \
        packets have only the DSCP. A port that trusts the tag puts them all into priority 0, where nothing is \
        lossless.",
    fix: "Map the DSCP to the RDMA priority; the driver then trusts DSCP. `mlnx_qos -i IF --trust dscp` does the same.",
    verify: "`dcb app show dev IF` lists the DSCP with its priority, and `rx_prioN_bytes` of `ethtool -S` grows for that \
        priority under load.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let Some(qos) = node.spec.and_then(|spec| spec.qos.as_ref()) else {
        return Vec::new();
    };
    switched(node)
        .filter_map(|(_, netdev)| {
            let trust = netdev.qos.trust.known().filter(|trust| *trust == "pcp")?;
            let name = word(&netdev.name);
            Some(
                CheckHit::warning(&netdev.name)
                    .saw(
                        "trust",
                        trust,
                        format!(
                            "{}, else dcb app show dev {name}",
                            netdev_file(&netdev.name, "qos/trust")
                        ),
                    )
                    .saw("DSCP of RDMA", qos.dscp, "cluster file")
                    .command(format!(
                        "sudo dcb app add dev {name} dscp-prio {}:{}",
                        qos.dscp, qos.priority
                    )),
            )
        })
        .collect()
}
