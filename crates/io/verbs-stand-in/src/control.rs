//! What tests call, besides what libibverbs has.

use std::ffi::{CStr, c_char};

use crosstie_verbs_abi as abi;

use crate::state;

/// 0, or -1 if a fault could not be read.
#[unsafe(no_mangle)]
unsafe extern "C" fn stand_in_inject(text: *const c_char) -> i32 {
    // SAFETY: a string, by this function's contract.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    if state::lock().faults.add(&text) {
        0
    } else {
        -1
    }
}

/// How many objects have been made and not destroyed.
#[unsafe(no_mangle)]
extern "C" fn stand_in_live() -> usize {
    state::lock().live()
}

/// Has a device tell of an event: of the queue pair of a number, or of a port of every open device.
#[unsafe(no_mangle)]
extern "C" fn stand_in_raise(event_type: u32, number: u32) -> i32 {
    let mut world = state::lock();
    let of_pair = event_type <= abi::EVENT_PATH_MIGRATION || event_type == abi::EVENT_LAST_REQUEST;
    if of_pair {
        let Some(pair) = world.pair_of_number(number) else {
            return -1;
        };
        let context = world.pairs[&pair].context;
        let element = pair as *mut _;
        world.raise(
            context,
            abi::AsyncEvent {
                element,
                event_type,
            },
        );
        return 0;
    }
    let contexts: Vec<usize> = world.contexts.keys().copied().collect();
    for context in contexts {
        let element = number as usize as *mut _;
        world.raise(
            context,
            abi::AsyncEvent {
                element,
                event_type,
            },
        );
    }
    0
}
