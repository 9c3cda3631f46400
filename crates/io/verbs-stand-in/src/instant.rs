//! A device that has done everything at once: what is left of a benchmark's time is the caller's.

use crosstie_verbs_abi::{self as abi, ZeroableType};

/// Where `struct ibv_qp` has its send queue.
pub(crate) const SEND_QUEUE: usize = 24;
/// Beyond anything that callers look at: completions that were not polled, and the last one's number.
const PENDING: usize = 320;
const IDENTIFIER: usize = 328;

pub(crate) unsafe extern "C" fn post_send(
    pair: *mut abi::QueuePair,
    first: *mut abi::SendRequest,
    _refused: *mut *mut abi::SendRequest,
) -> i32 {
    let mut next = first;
    // SAFETY: objects of ours with room for these fields, and a list of requests that ends with a null pointer. One
    // thread at a time, as benchmarks are.
    unsafe {
        let queue = pair
            .byte_add(SEND_QUEUE)
            .cast::<*mut abi::CompletionQueue>()
            .read();
        let pending = queue.byte_add(PENDING).cast::<u64>();
        while !next.is_null() {
            if (*next).send_flags & abi::SEND_SIGNALLED != 0 {
                *pending += 1;
                queue
                    .byte_add(IDENTIFIER)
                    .cast::<u64>()
                    .write((*next).wr_id);
            }
            next = (*next).next;
        }
    }
    0
}

pub(crate) unsafe extern "C" fn poll_cq(
    queue: *mut abi::CompletionQueue,
    room: i32,
    completions: *mut abi::WorkCompletion,
) -> i32 {
    // SAFETY: as above, and room for so many completions.
    unsafe {
        let pending = queue.byte_add(PENDING).cast::<u64>();
        let wr_id = queue.byte_add(IDENTIFIER).cast::<u64>().read();
        let count = (*pending).min(u64::from(room.unsigned_abs()));
        *pending -= count;
        let mut next = completions;
        for _ in 0..count {
            next.write(abi::WorkCompletion {
                wr_id,
                opcode: abi::COMPLETED_WRITE,
                ..abi::WorkCompletion::ZEROED
            });
            next = next.add(1);
        }
        i32::try_from(count).unwrap_or(0)
    }
}
