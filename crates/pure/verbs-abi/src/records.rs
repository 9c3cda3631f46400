//! What is passed to libibverbs and back by value.

use std::ffi::c_void;

use crate::table::records;

/// What libibverbs makes and we hold by pointer only.
macro_rules! handles {
    ($($name:ident)*) => {
        $(
            #[repr(C)]
            #[derive(Debug)]
            pub struct $name {
                opaque: [u8; 0],
            }
        )*
    };
}
handles!(Device Context ProtectionDomain Region Channel CompletionQueue QueuePair);

records! {
    /// The bytes in network order; as integers because C aligns them as such.
    GlobalId is "union ibv_gid", 16 bytes {
        0 words as "raw": [u64; 2],
    }

    GidEntry is "struct ibv_gid_entry", 32 bytes {
        0 gid: GlobalId,
        16 gid_index: u32,
        20 port_num: u32,
        24 gid_type: u32,
        28 ndev_ifindex: u32,
    }

    GlobalRoute is "struct ibv_global_route", 24 bytes {
        0 dgid: GlobalId,
        16 flow_label: u32,
        20 sgid_index: u8,
        21 hop_limit: u8,
        22 traffic_class: u8,
    }

    AddressVector is "struct ibv_ah_attr", 32 bytes {
        0 grh: GlobalRoute,
        24 dlid: u16,
        26 sl: u8,
        27 src_path_bits: u8,
        28 static_rate: u8,
        29 is_global: u8,
        30 port_num: u8,
    }

    QueueCapabilities is "struct ibv_qp_cap", 20 bytes {
        0 max_send_wr: u32,
        4 max_recv_wr: u32,
        8 max_send_sge: u32,
        12 max_recv_sge: u32,
        16 max_inline_data: u32,
    }

    QueuePairInit is "struct ibv_qp_init_attr", 64 bytes {
        0 qp_context: *mut c_void,
        8 send_cq: *mut CompletionQueue,
        16 recv_cq: *mut CompletionQueue,
        24 srq: *mut c_void,
        32 cap: QueueCapabilities,
        52 qp_type: u32,
        56 sq_sig_all: i32,
    }

    QueuePairAttributes is "struct ibv_qp_attr", 144 bytes {
        0 qp_state: u32,
        4 cur_qp_state: u32,
        8 path_mtu: u32,
        12 path_mig_state: u32,
        16 qkey: u32,
        20 rq_psn: u32,
        24 sq_psn: u32,
        28 dest_qp_num: u32,
        32 qp_access_flags: u32,
        36 cap: QueueCapabilities,
        56 ah_attr: AddressVector,
        88 alt_ah_attr: AddressVector,
        120 pkey_index: u16,
        122 alt_pkey_index: u16,
        124 en_sqd_async_notify: u8,
        125 sq_draining: u8,
        126 max_rd_atomic: u8,
        127 max_dest_rd_atomic: u8,
        128 min_rnr_timer: u8,
        129 port_num: u8,
        130 timeout: u8,
        131 retry_cnt: u8,
        132 rnr_retry: u8,
        133 alt_port_num: u8,
        134 alt_timeout: u8,
        136 rate_limit: u32,
    }

    ScatterElement is "struct ibv_sge", 16 bytes {
        0 addr: u64,
        8 length: u32,
        12 lkey: u32,
    }

    /// The last bytes belong to atomics, memory windows and segmentation offload.
    SendRequest is "struct ibv_send_wr", 128 bytes {
        0 wr_id: u64,
        8 next: *mut SendRequest,
        16 sg_list: *mut ScatterElement,
        24 num_sge: i32,
        28 opcode: u32,
        32 send_flags: u32,
        36 imm_data: u32,
        40 remote_addr as "wr.rdma.remote_addr": u64,
        48 rkey as "wr.rdma.rkey": u32,
        56 others as "": [u64; 9],
    }

    ReceiveRequest is "struct ibv_recv_wr", 32 bytes {
        0 wr_id: u64,
        8 next: *mut ReceiveRequest,
        16 sg_list: *mut ScatterElement,
        24 num_sge: i32,
    }

    WorkCompletion is "struct ibv_wc", 48 bytes {
        0 wr_id: u64,
        8 status: u32,
        12 opcode: u32,
        16 vendor_err: u32,
        20 byte_len: u32,
        24 imm_data: u32,
        28 qp_num: u32,
        32 src_qp: u32,
        36 wc_flags: u32,
        40 pkey_index: u16,
        42 slid: u16,
        44 sl: u8,
        45 dlid_path_bits: u8,
    }

    DeviceAttributes is "struct ibv_device_attr", 232 bytes {
        0 fw_ver: [u8; 64],
        64 node_guid: u64,
        72 sys_image_guid: u64,
        80 max_mr_size: u64,
        88 page_size_cap: u64,
        96 vendor_id: u32,
        100 vendor_part_id: u32,
        104 hw_ver: u32,
        108 max_qp: i32,
        112 max_qp_wr: i32,
        116 device_cap_flags: u32,
        120 max_sge: i32,
        124 max_sge_rd: i32,
        128 max_cq: i32,
        132 max_cqe: i32,
        136 max_mr: i32,
        140 max_pd: i32,
        144 max_qp_rd_atom: i32,
        148 max_ee_rd_atom: i32,
        152 max_res_rd_atom: i32,
        156 max_qp_init_rd_atom: i32,
        160 others as "": [u64; 8],
        224 max_pkeys: u16,
        226 local_ca_ack_delay: u8,
        227 phys_port_cnt: u8,
    }

    /// The element is a pointer, or a port's number in its first four bytes.
    AsyncEvent is "struct ibv_async_event", 16 bytes {
        0 element as "element.qp": *mut c_void,
        8 event_type: u32,
    }
}

impl GlobalId {
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let [first, second] = [0, 8]
            .map(|start| u64::from_ne_bytes(std::array::from_fn(|index| bytes[start + index])));
        Self {
            words: [first, second],
        }
    }

    pub fn bytes(self) -> [u8; 16] {
        let [first, second] = self.words.map(u64::to_ne_bytes);
        std::array::from_fn(|index| {
            if index < 8 {
                first[index]
            } else {
                second[index - 8]
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gid_keeps_its_bytes_in_order() {
        let bytes: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        assert_eq!(GlobalId::from_bytes(bytes).bytes(), bytes);
    }
}
