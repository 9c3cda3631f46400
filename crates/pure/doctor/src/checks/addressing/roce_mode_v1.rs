//! RDMA-CM's default is RoCE v1.

use crosstie_model::facts::rdma::GidKind;

use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, terms::roce, word};

pub(super) const CHECK: Check = Check {
    id: "roce-mode-v1",
    title: "Connections through RDMA-CM use RoCE v1 by default",
    severity: "warning",
    fires: "A RoCE fabric port's `default_roce_mode` in configfs is `IB/RoCE v1`.",
    reads: &["/sys/kernel/config/rdma_cm/DEV/ports/P/default_roce_mode"],
    cause: "a script or an older driver package set the default to RoCE v1",
    meaning: "Programs that connect through RDMA-CM (storage, MPI, perftest with `-R`) take this mode. RoCE v1 frames have \
        no IP header: no router passes them, switches cannot sort them by DSCP, and a peer that expects v2 refuses them.",
    fix: "Set the default to RoCE v2.",
    verify: "The file says `RoCE v2`.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    roce(node)
        .filter_map(|port| {
            let mode = port.port.cm_roce_mode.known()?;
            let file = format!(
                "/sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_mode",
                port.device.name, port.port.number
            );
            (GidKind::from(mode.clone()) == GidKind::RoceV1).then(|| {
                CheckHit::warning(&port.device.name)
                    .saw("default mode", mode, &*file)
                    .command(format!("echo 'RoCE v2' | sudo tee {}", word(&file)))
            })
        })
        .collect()
}
