//! Completion queues and channels.

use std::{
    ffi::c_void,
    os::{fd::AsRawFd, unix::net::UnixStream},
    sync::Arc,
};

use crosstie_verbs_abi as abi;

use crate::{
    object::{self, EBUSY, EINVAL, ENOMEM, null},
    state::{self, StandInChannel, StandInQueue, next_event},
    transfer,
};

const MAX_ENTRIES: i32 = 65536;

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_create_comp_channel(context: *mut abi::Context) -> *mut abi::Channel {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_create_comp_channel") {
        return null(error);
    }
    let Ok(wake) = UnixStream::pair() else {
        return null(ENOMEM);
    };
    let raw = object::make::<abi::Channel>();
    // SAFETY: made above.
    unsafe { object::set(raw, abi::channel::FD, wake.0.as_raw_fd()) };
    let channel = StandInChannel {
        context: context.addr(),
        wake: Arc::new(wake),
        events: [].into(),
    };
    world.channels.insert(raw.as_ptr().addr(), channel);
    raw.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_destroy_comp_channel(channel: *mut abi::Channel) -> i32 {
    let mut world = state::lock();
    if world
        .queues
        .values()
        .any(|queue| queue.channel == channel.addr())
    {
        return EBUSY;
    }
    world.channels.remove(&channel.addr());
    // SAFETY: made by ibv_create_comp_channel.
    unsafe { object::free(channel) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_create_cq(
    context: *mut abi::Context,
    entries: i32,
    _own: *mut c_void,
    channel: *mut abi::Channel,
    _vector: i32,
) -> *mut abi::CompletionQueue {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_create_cq") {
        return null(error);
    }
    if !(1..=MAX_ENTRIES).contains(&entries) {
        return null(EINVAL);
    }
    let raw = object::make::<abi::CompletionQueue>();
    // SAFETY: made above.
    unsafe { object::set(raw, abi::completion_queue::CONTEXT, context) };
    let queue = StandInQueue {
        context: context.addr(),
        channel: channel.addr(),
        capacity: entries.unsigned_abs() as usize,
        armed: false,
        unacknowledged: 0,
        entries: [].into(),
    };
    world.queues.insert(raw.as_ptr().addr(), queue);
    raw.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_destroy_cq(queue: *mut abi::CompletionQueue) -> i32 {
    let mut world = state::lock();
    let address = queue.addr();
    let uses = |pair: &state::StandInQueuePair| {
        pair.send_queue == address || pair.receive_queue == address
    };
    if world.pairs.values().any(uses) {
        return EBUSY;
    }
    // libibverbs would wait here for ever.
    if world
        .queues
        .get(&address)
        .is_some_and(|queue| queue.unacknowledged > 0)
    {
        return EBUSY;
    }
    for channel in world.channels.values_mut() {
        channel.events.retain(|&event| event != address);
    }
    world.queues.remove(&address);
    // SAFETY: made by ibv_create_cq.
    unsafe { object::free(queue) };
    0
}

pub(crate) unsafe extern "C" fn req_notify_cq(
    queue: *mut abi::CompletionQueue,
    _solicited: i32,
) -> i32 {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("req_notify_cq") {
        return error;
    }
    if let Some(queue) = world.queues.get_mut(&queue.addr()) {
        queue.armed = true;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_cq_event(
    channel: *mut abi::Channel,
    queue: *mut *mut abi::CompletionQueue,
    own: *mut *mut c_void,
) -> i32 {
    let next = next_event(
        "ibv_get_cq_event",
        |world| Some(&world.channels.get(&channel.addr())?.wake),
        |world| {
            let channel = world.channels.get_mut(&channel.addr())?;
            channel.events.pop_front()
        },
    );
    let Some((address, mut world)) = next else {
        return -1;
    };
    if let Some(queue) = world.queues.get_mut(&address) {
        queue.unacknowledged += 1;
    }
    // SAFETY: room for both, by the function's contract.
    unsafe {
        queue.write(address as *mut _);
        own.write(std::ptr::null_mut());
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_ack_cq_events(queue: *mut abi::CompletionQueue, count: u32) {
    if let Some(queue) = state::lock().queues.get_mut(&queue.addr()) {
        queue.unacknowledged = queue.unacknowledged.saturating_sub(count);
    }
}

pub(crate) unsafe extern "C" fn poll_cq(
    queue: *mut abi::CompletionQueue,
    room: i32,
    completions: *mut abi::WorkCompletion,
) -> i32 {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("poll_cq") {
        return -error;
    }
    transfer::give_up_late(&mut world);
    let mut count = 0;
    while count < room {
        let Some(entry) = world
            .queues
            .get_mut(&queue.addr())
            .and_then(|queue| queue.entries.pop_front())
        else {
            break;
        };
        // SAFETY: room for so many completions, by the function's contract.
        unsafe {
            completions
                .add(count.unsigned_abs() as usize)
                .write(entry.completion);
        };
        if let Some((pair, places)) = entry.frees
            && let Some(pair) = world.pairs.get_mut(&pair)
        {
            pair.outstanding = pair.outstanding.saturating_sub(places);
        }
        count += 1;
    }
    count
}
