//! NCCL is told not to use RDMA.

use crosstie_fabric::nccl::integer;

use super::{FILES, saw, setting};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, word};

pub(super) const CHECK: Check = Check {
    id: "nccl-ib-disabled",
    title: "NCCL is told not to use RDMA",
    severity: "fault",
    fires: "`NCCL_IB_DISABLE` is set to a number other than 0 on a node with RDMA devices.",
    reads: FILES,
    cause: "left over from a test, or copied from a guide for machines without RDMA",
    meaning: "With `NCCL_IB_DISABLE=1` NCCL sends everything over TCP sockets. It says so in one line of its log, and \
        otherwise works: at a tenth of the bandwidth and many times the latency. The variable covers RoCE as well as \
        InfiniBand.",
    fix: "Take the setting out.",
    verify: "With `NCCL_DEBUG=INFO` the log says `NET/IB : Using …` and `Using network IB`.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let setting = setting(node, "NCCL_IB_DISABLE")
        .filter(|setting| integer(&setting.value).is_some_and(|value| value != 0))
        .filter(|_| !node.facts.rdma.is_empty());
    setting
        .map(|setting| {
            let hit = saw(CheckHit::fault("NCCL_IB_DISABLE"), setting);
            match setting.source.as_str() {
                "environment" => hit.command("unset NCCL_IB_DISABLE"),
                file if file.starts_with("/etc/") => {
                    hit.command(format!("sudo sed -i '/NCCL_IB_DISABLE/d' {}", word(file)))
                }
                _ => hit,
            }
        })
        .into_iter()
        .collect()
}
