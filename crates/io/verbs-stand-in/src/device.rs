//! Devices, contexts, ports and GIDs.

use std::{
    ffi::{c_char, c_void},
    io::Write,
    os::{fd::AsRawFd, unix::net::UnixStream},
    ptr::NonNull,
    sync::Arc,
};

use crosstie_verbs_abi::{self as abi, ZeroableType};

use crate::{
    completion, instant,
    model::{GID_TABLE_LENGTH, MODELS},
    object::{self, EBUSY, EINVAL, ENODATA, ENOMEM, null},
    state::{self, StandInContext},
    transfer,
};

/// What libibverbs says of a provider that was built for another libibverbs.
const WARNING: &str = "libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': libmlx5-rdmav34.so: \
     version `IBVERBS_PRIVATE_34' not found\n";

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_device_list(count: *mut i32) -> *mut *mut abi::Device {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_get_device_list") {
        return null(error);
    }
    let mut devices: Vec<*mut abi::Device> = Vec::new();
    if world.faults.lasts("no_devices") {
        let _ = std::io::stderr().write_all(WARNING.as_bytes());
    } else {
        devices.extend(MODELS.iter().map(|_| object::make().as_ptr()));
    }
    if let Some(count) = NonNull::new(count) {
        // SAFETY: room for a number, by the function's contract.
        unsafe { count.write(i32::try_from(devices.len()).unwrap_or(0)) };
    }
    // Which model a device is, is written in it.
    for (index, device) in (0_u64..).zip(&devices) {
        // SAFETY: made above.
        unsafe { device.cast::<u64>().write(index) };
    }
    devices.push(std::ptr::null_mut());
    world.lists += 1;
    Box::into_raw(devices.into_boxed_slice()).cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_free_device_list(list: *mut *mut abi::Device) {
    let mut count = 0;
    // SAFETY: a list that ibv_get_device_list made ends with a null pointer, and its devices were made there.
    unsafe {
        while !(*list.add(count)).is_null() {
            object::free(*list.add(count));
            count += 1;
        }
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
            list,
            count + 1,
        )));
    }
    state::lock().lists -= 1;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_device_name(device: *mut abi::Device) -> *const c_char {
    // SAFETY: a device of a list that was not freed.
    MODELS[unsafe { model_index(device) }].name.as_ptr()
}

/// # Safety
///
/// `device` is one of a list that has not been freed.
unsafe fn model_index(device: *mut abi::Device) -> usize {
    // SAFETY: as the caller promises.
    usize::try_from(unsafe { device.cast::<u64>().read() }).unwrap_or(usize::MAX)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_open_device(device: *mut abi::Device) -> *mut abi::Context {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_open_device") {
        return null(error);
    }
    let Ok(wake) = UnixStream::pair() else {
        return null(ENOMEM);
    };
    // SAFETY: a device of a list that was not freed.
    let model = &MODELS[unsafe { model_index(device) }];
    let raw = object::make::<abi::Context>();
    let (poll, post_send): (abi::PollCompletions, abi::PostSend) = if model.instant {
        (instant::poll_cq, instant::post_send)
    } else {
        (completion::poll_cq, transfer::post_send)
    };
    let notify: abi::RequestNotification = completion::req_notify_cq;
    let post_receive: abi::PostReceive = transfer::post_recv;
    // SAFETY: made above.
    unsafe {
        object::set(raw, abi::context::POLL_CQ, poll);
        object::set(raw, abi::context::REQUEST_NOTIFY, notify);
        object::set(raw, abi::context::POST_SEND, post_send);
        object::set(raw, abi::context::POST_RECEIVE, post_receive);
        object::set(raw, abi::context::ASYNC_FD, wake.0.as_raw_fd());
        object::set(raw, abi::context::COMPLETION_VECTORS, 1);
    }
    let context = StandInContext {
        model,
        events: [].into(),
        wake: Arc::new(wake),
    };
    world.contexts.insert(raw.as_ptr().addr(), context);
    raw.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_close_device(context: *mut abi::Context) -> i32 {
    let mut world = state::lock();
    let address = context.addr();
    let in_use = world.domains.values().any(|&context| context == address)
        || world.queues.values().any(|queue| queue.context == address)
        || world
            .channels
            .values()
            .any(|channel| channel.context == address);
    if in_use {
        return EBUSY;
    }
    if let Some(error) = world.faults.take("ibv_close_device") {
        return error;
    }
    world.contexts.remove(&address);
    // SAFETY: made by ibv_open_device.
    unsafe { object::free(context) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_query_device(
    _context: *mut abi::Context,
    attributes: *mut abi::DeviceAttributes,
) -> i32 {
    if let Some(error) = state::lock().faults.take("ibv_query_device") {
        return error;
    }
    let answer = abi::DeviceAttributes {
        max_qp: 1024,
        max_qp_wr: 4096,
        max_cq: 1024,
        max_cqe: 65536,
        max_qp_rd_atom: 16,
        max_qp_init_rd_atom: 16,
        phys_port_cnt: 1,
        ..abi::DeviceAttributes::ZEROED
    };
    // SAFETY: room for the attributes, by the function's contract.
    unsafe { attributes.write(answer) };
    0
}

/// Bytes that are written after the fields that we know, as a library of later years would.
const GROWN_TO: usize = 256;

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_query_port(
    context: *mut abi::Context,
    port: u8,
    attributes: *mut c_void,
) -> i32 {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_query_port") {
        return error;
    }
    let state = world
        .faults
        .take("port_state")
        .map_or(abi::PORT_ACTIVE, i32::unsigned_abs);
    let Some(context) = world.contexts.get(&context.addr()).filter(|_| port == 1) else {
        return EINVAL;
    };
    let infiniband = context.model.is_infiniband();
    let link = if infiniband {
        abi::LINK_INFINIBAND
    } else {
        abi::LINK_ETHERNET
    };
    let link = u8::try_from(link).unwrap_or(0);
    let Some(room) = NonNull::new(attributes) else {
        return EINVAL;
    };
    // SAFETY: whoever calls gives room for a structure that grows.
    unsafe {
        room.as_ptr().cast::<u8>().write_bytes(0xa5, GROWN_TO);
        room.as_ptr().cast::<u8>().write_bytes(0, 52);
        let set = |offset: usize, value: u32| {
            room.as_ptr().byte_add(offset).cast::<u32>().write(value);
        };
        set(abi::port::STATE, state);
        set(abi::port::MAX_MTU, abi::MTU_4096);
        set(
            abi::port::ACTIVE_MTU,
            if infiniband {
                abi::MTU_2048
            } else {
                abi::MTU_1024
            },
        );
        set(abi::port::GID_TABLE_LENGTH, GID_TABLE_LENGTH);
        room.as_ptr()
            .byte_add(abi::port::LID)
            .cast::<u16>()
            .write(context.model.lid);
        room.as_ptr()
            .byte_add(abi::port::LINK_LAYER)
            .cast::<u8>()
            .write(link);
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _ibv_query_gid_ex(
    context: *mut abi::Context,
    port: u32,
    index: u32,
    entry: *mut abi::GidEntry,
    _flags: u32,
    size: usize,
) -> i32 {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("_ibv_query_gid_ex") {
        return error;
    }
    let model = world
        .contexts
        .get(&context.addr())
        .map(|context| context.model);
    let Some(model) = model.filter(|_| port == 1 && index < GID_TABLE_LENGTH && size == 32) else {
        return EINVAL;
    };
    let Some((bytes, kind)) = model.gid(index) else {
        return ENODATA;
    };
    let answer = abi::GidEntry {
        gid: abi::GlobalId::from_bytes(bytes),
        gid_index: index,
        port_num: port,
        gid_type: kind,
        ndev_ifindex: if model.is_infiniband() { 0 } else { 3 },
    };
    // SAFETY: room for an entry of the size that was given.
    unsafe { entry.write(answer) };
    0
}
