//! A queue pair's peer could not be reached.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-qp-timeout",
    title: "A connection failed: the peer's fabric address does not answer",
    severity: "fault",
    fires: "`ibv_modify_qp` failed with 110, `Connection timed out`. A line that says that it retries does not count.",
    reads: &["Call to ibv_modify_qp failed with …"],
    cause: "the two devices that NCCL paired are not on one network: other rails, another cable, a ring, or a port \
        cabled elsewhere",
    meaning: "NCCL pairs devices by their place in each node's list. To set up the connection the kernel resolves \
        the peer's address on that port, and nobody answers there. It happens in rings, with crossed cables, and \
        when a list holds a port that leads somewhere else.",
    fix: "List only devices that reach each other, in the same order, in each node's NCCL_IB_HCA. On switched rails \
        set NCCL_CROSS_NIC=0. In a ring of three or more use NCCL 2.30.7 or newer with \
        NCCL_IB_SUBNET_AWARE_ROUTING=1.",
    verify: "Each fabric address answers `ping -I INTERFACE` from the port that is paired with it, and the job starts.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
