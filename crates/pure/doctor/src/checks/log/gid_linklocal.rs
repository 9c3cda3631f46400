//! Queue pairs use the link-local GID.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-gid-linklocal",
    title: "RDMA uses a link-local address",
    severity: "warning",
    fires: "A queue pair is set up with `GID 0 (80FE/…)`: index 0, the link-local one, in RoCE v1. Such lines need \
        NCCL_DEBUG_SUBSYS with NET.",
    reads: &["NET/IB: … GID 0 (80FE/…)"],
    cause: "the port has no IPv4 address, so NCCL takes the first entry of its table; before 2.21 it always does, \
        unless NCCL_IB_GID_INDEX says otherwise",
    meaning: "The link-local GID works between ports of one flat network, and nowhere else: a router, and many a \
        switch's quality of service, do not know RoCE v1.",
    fix: "Give the port an address (each twin in a subnet of its own). With NCCL before 2.21 also set \
        NCCL_IB_GID_INDEX to the port's RoCE v2 entry.",
    verify: "With NCCL_DEBUG_SUBSYS=INIT,NET the log shows a GID that does not begin with 80FE.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
