//! NCCL logs. They are fired by the reader of such logs; here are their texts.

mod completion_error;
mod gdr_off;
mod gid_linklocal;
mod memory_registration;
mod mixed_transport;
mod no_ib_device;
mod no_libibverbs;
mod plugin_foreign;
mod qp_no_gid;
mod qp_timeout;
mod single_rail;
mod socket_fallback;

use super::CheckArea;

pub const AREA: CheckArea = CheckArea {
    title: "NCCL logs",
    checks: &[
        &socket_fallback::CHECK,
        &no_ib_device::CHECK,
        &no_libibverbs::CHECK,
        &single_rail::CHECK,
        &gdr_off::CHECK,
        &gid_linklocal::CHECK,
        &qp_no_gid::CHECK,
        &qp_timeout::CHECK,
        &completion_error::CHECK,
        &memory_registration::CHECK,
        &plugin_foreign::CHECK,
        &mixed_transport::CHECK,
    ],
};
