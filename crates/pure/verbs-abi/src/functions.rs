//! The functions that are looked up by name.

/// A function of libibverbs' with its type in C.
#[derive(Debug, Clone, Copy)]
pub struct AbiFunction {
    pub name: &'static str,
    pub c_type: &'static str,
}

/// Calls `$then!` with every function: its name, its type in Rust, and its type in C. Whoever loads the library makes
/// a field of each, and [`functions`] the rows that are checked against the headers.
#[macro_export]
macro_rules! for_each_function {
    ($then:ident) => {
        $then! {
            ibv_get_device_list: fn(*mut i32) -> *mut *mut $crate::Device,
                "struct ibv_device **(int *)";
            ibv_free_device_list: fn(*mut *mut $crate::Device),
                "void (struct ibv_device **)";
            ibv_get_device_name: fn(*mut $crate::Device) -> *const std::ffi::c_char,
                "const char *(struct ibv_device *)";
            ibv_open_device: fn(*mut $crate::Device) -> *mut $crate::Context,
                "struct ibv_context *(struct ibv_device *)";
            ibv_close_device: fn(*mut $crate::Context) -> i32,
                "int (struct ibv_context *)";
            ibv_query_device: fn(*mut $crate::Context, *mut $crate::DeviceAttributes) -> i32,
                "int (struct ibv_context *, struct ibv_device_attr *)";
            ibv_query_port: fn(*mut $crate::Context, u8, *mut std::ffi::c_void) -> i32,
                "int (struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *)";
            _ibv_query_gid_ex: fn(*mut $crate::Context, u32, u32, *mut $crate::GidEntry, u32, usize) -> i32,
                "int (struct ibv_context *, uint32_t, uint32_t, struct ibv_gid_entry *, uint32_t, size_t)";
            ibv_alloc_pd: fn(*mut $crate::Context) -> *mut $crate::ProtectionDomain,
                "struct ibv_pd *(struct ibv_context *)";
            ibv_dealloc_pd: fn(*mut $crate::ProtectionDomain) -> i32,
                "int (struct ibv_pd *)";
            ibv_reg_mr_iova2: fn(*mut $crate::ProtectionDomain, *mut std::ffi::c_void, usize, u64, u32) -> *mut $crate::Region,
                "struct ibv_mr *(struct ibv_pd *, void *, size_t, uint64_t, unsigned int)";
            ibv_dereg_mr: fn(*mut $crate::Region) -> i32,
                "int (struct ibv_mr *)";
            ibv_create_comp_channel: fn(*mut $crate::Context) -> *mut $crate::Channel,
                "struct ibv_comp_channel *(struct ibv_context *)";
            ibv_destroy_comp_channel: fn(*mut $crate::Channel) -> i32,
                "int (struct ibv_comp_channel *)";
            ibv_create_cq: fn(*mut $crate::Context, i32, *mut std::ffi::c_void, *mut $crate::Channel, i32) -> *mut $crate::CompletionQueue,
                "struct ibv_cq *(struct ibv_context *, int, void *, struct ibv_comp_channel *, int)";
            ibv_destroy_cq: fn(*mut $crate::CompletionQueue) -> i32,
                "int (struct ibv_cq *)";
            ibv_get_cq_event: fn(*mut $crate::Channel, *mut *mut $crate::CompletionQueue, *mut *mut std::ffi::c_void) -> i32,
                "int (struct ibv_comp_channel *, struct ibv_cq **, void **)";
            ibv_ack_cq_events: fn(*mut $crate::CompletionQueue, u32),
                "void (struct ibv_cq *, unsigned int)";
            ibv_create_qp: fn(*mut $crate::ProtectionDomain, *mut $crate::QueuePairInit) -> *mut $crate::QueuePair,
                "struct ibv_qp *(struct ibv_pd *, struct ibv_qp_init_attr *)";
            ibv_modify_qp: fn(*mut $crate::QueuePair, *mut $crate::QueuePairAttributes, i32) -> i32,
                "int (struct ibv_qp *, struct ibv_qp_attr *, int)";
            ibv_destroy_qp: fn(*mut $crate::QueuePair) -> i32,
                "int (struct ibv_qp *)";
            ibv_get_async_event: fn(*mut $crate::Context, *mut $crate::AsyncEvent) -> i32,
                "int (struct ibv_context *, struct ibv_async_event *)";
            ibv_ack_async_event: fn(*mut $crate::AsyncEvent),
                "void (struct ibv_async_event *)";
        }
    };
}

/// Functions of a device's driver, which have no symbol: `struct ibv_context` has pointers to them.
macro_rules! operations {
    ($($name:ident at $path:literal: fn($($argument:ty),*) -> $result:ty, $c_type:literal;)*) => {
        $(pub type $name = unsafe extern "C" fn($($argument),*) -> $result;)*

        /// With the place of each in `struct ibv_context` in place of a name.
        pub(crate) const OPERATIONS: &[AbiFunction] = &[$(AbiFunction { name: $path, c_type: $c_type },)*];
    };
}
operations! {
    PollCompletions at "ops.poll_cq": fn(*mut crate::CompletionQueue, i32, *mut crate::WorkCompletion) -> i32,
        "int (*)(struct ibv_cq *, int, struct ibv_wc *)";
    RequestNotification at "ops.req_notify_cq": fn(*mut crate::CompletionQueue, i32) -> i32,
        "int (*)(struct ibv_cq *, int)";
    PostSend at "ops.post_send": fn(*mut crate::QueuePair, *mut crate::SendRequest, *mut *mut crate::SendRequest) -> i32,
        "int (*)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **)";
    PostReceive at "ops.post_recv": fn(*mut crate::QueuePair, *mut crate::ReceiveRequest, *mut *mut crate::ReceiveRequest) -> i32,
        "int (*)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **)";
}

macro_rules! rows {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?, $c_type:literal;)*) => {
        const FUNCTIONS: &[AbiFunction] = &[$(AbiFunction { name: stringify!($name), c_type: $c_type },)*];
    };
}
for_each_function!(rows);

pub fn functions() -> &'static [AbiFunction] {
    FUNCTIONS
}
