//! What devices tell without being asked.

use std::{io::Read, sync::Arc};

use crosstie_verbs_abi as abi;

use crate::{
    object::{EAGAIN, EINVAL, set_errno},
    world,
};

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_async_event(
    context: *mut abi::Context,
    event: *mut abi::AsyncEvent,
) -> i32 {
    let mut world = world::lock();
    if let Some(error) = world.faults.take("ibv_get_async_event") {
        set_errno(error);
        return -1;
    }
    let Some(wake) = world
        .contexts
        .get(&context.addr())
        .map(|context| Arc::clone(&context.wake))
    else {
        set_errno(EINVAL);
        return -1;
    };
    // Without the lock: it may block.
    drop(world);
    if let Err(error) = (&wake.0).read_exact(&mut [0]) {
        set_errno(error.raw_os_error().unwrap_or(EINVAL));
        return -1;
    }
    let mut world = world::lock();
    let next = world
        .contexts
        .get_mut(&context.addr())
        .and_then(|context| context.events.pop_front());
    let Some(next) = next else {
        // What it was of is gone.
        set_errno(EAGAIN);
        return -1;
    };
    if let Some(pair) = world.pairs.get_mut(&next.element.addr()) {
        pair.unacknowledged += 1;
    }
    // SAFETY: room for an event, by the function's contract.
    unsafe { event.write(next) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_ack_async_event(event: *mut abi::AsyncEvent) {
    // SAFETY: an event that ibv_get_async_event gave.
    let element = unsafe { (*event).element };
    if let Some(pair) = world::lock().pairs.get_mut(&element.addr()) {
        pair.unacknowledged = pair.unacknowledged.saturating_sub(1);
    }
}
