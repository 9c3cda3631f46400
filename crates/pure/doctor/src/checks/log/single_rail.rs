//! One of two twins is used.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-single-rail",
    title: "NCCL uses one of two functions that share a cable",
    severity: "warning",
    fires: "`NET/IB : Using` lists one RoCE device, while the node's facts (`--from`) show an active twin of it, or \
        another node of the log uses the same device together with its twin.",
    reads: &["NET/IB : Using …", "the node's facts, where given"],
    cause: "NCCL_IB_HCA names one twin, or the other one was not up when the job started",
    meaning: "A cage of a DGX Spark is served by two functions on PCIe links of half the cable's rate each. With one \
        of them NCCL reaches about 12 GB/s instead of 21 to 24.",
    fix: "List both twins in NCCL_IB_HCA with a leading `=` (NCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1), or unset it; \
        bring the twin up if it is down.",
    verify: "`NET/IB : Using` lists both devices.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
