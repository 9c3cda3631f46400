//! What devices tell without being asked.

use crosstie_verbs_abi as abi;

use crate::state::{self, next_event};

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_async_event(
    context: *mut abi::Context,
    event: *mut abi::AsyncEvent,
) -> i32 {
    let next = next_event(
        "ibv_get_async_event",
        |world| Some(&world.contexts.get(&context.addr())?.wake),
        |world| {
            let context = world.contexts.get_mut(&context.addr())?;
            context.events.pop_front()
        },
    );
    let Some((next, mut world)) = next else {
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
    if let Some(pair) = state::lock().pairs.get_mut(&element.addr()) {
        pair.unacknowledged = pair.unacknowledged.saturating_sub(1);
    }
}
