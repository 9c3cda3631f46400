//! Where to look in what libibverbs has made.

use std::ffi::c_void;

use crate::table::{AbiSize, offsets};

/// Bytes that we give `ibv_query_port` to fill. It was 52 bytes long until rdma-core 50 and is 56 since.
pub const PORT_ATTRIBUTES_ROOM: usize = 512;

offsets! {
    /// Four functions of the device's driver have no symbol of their own.
    mod context is "struct ibv_context", AbiSize::Unknown => {
        0 DEVICE as "device": *mut c_void,
        96 POLL_CQ as "ops.poll_cq": *mut c_void,
        104 REQUEST_NOTIFY as "ops.req_notify_cq": *mut c_void,
        208 POST_SEND as "ops.post_send": *mut c_void,
        216 POST_RECEIVE as "ops.post_recv": *mut c_void,
        264 COMMAND_FD as "cmd_fd": i32,
        268 ASYNC_FD as "async_fd": i32,
        272 COMPLETION_VECTORS as "num_comp_vectors": i32,
    }

    mod protection_domain is "struct ibv_pd", AbiSize::Unknown => {
        0 CONTEXT as "context": *mut c_void,
    }

    mod region is "struct ibv_mr", AbiSize::Unknown => {
        0 CONTEXT as "context": *mut c_void,
        36 LOCAL_KEY as "lkey": u32,
        40 REMOTE_KEY as "rkey": u32,
    }

    mod channel is "struct ibv_comp_channel", AbiSize::Unknown => {
        0 CONTEXT as "context": *mut c_void,
        8 FD as "fd": i32,
    }

    mod completion_queue is "struct ibv_cq", AbiSize::Unknown => {
        0 CONTEXT as "context": *mut c_void,
    }

    mod queue_pair is "struct ibv_qp", AbiSize::Unknown => {
        0 CONTEXT as "context": *mut c_void,
        52 NUMBER as "qp_num": u32,
        56 STATE as "state": u32,
    }

    mod port is "struct ibv_port_attr", AbiSize::AtMost(PORT_ATTRIBUTES_ROOM) => {
        0 STATE as "state": u32,
        4 MAX_MTU as "max_mtu": u32,
        8 ACTIVE_MTU as "active_mtu": u32,
        12 GID_TABLE_LENGTH as "gid_tbl_len": i32,
        34 LID as "lid": u16,
        36 SUBNET_MANAGER_LID as "sm_lid": u16,
        46 LINK_LAYER as "link_layer": u8,
    }
}
