//! After an error: nothing stays under way.

use std::time::{Duration, Instant};

use crosstie_verbs::{CompletionBatch, CompletionQueue};

use crate::{
    engine::{Connection, Parts},
    notice::{LAST, Notice},
};

/// A device that does not end its work in this time is left alone; destroying the queue pairs ends it, or the worker does.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Ends what is under way on every queue pair, and waits until the device has let go of it. Whatever goes wrong here is no news:
/// the test has failed.
pub(crate) fn flush(parts: &Parts, connections: &mut [Connection]) {
    let deadline = Instant::now() + FLUSH_TIMEOUT;
    let Ok(mut last) = Notice::new(&parts.memory) else {
        return;
    };
    let mut batch = CompletionBatch::new(64);
    for connection in connections.iter_mut() {
        if connection.pair.end_work().is_err() {
            continue;
        }
        // Work is flushed in its order, so the one that is posted now comes last. A queue may be full until some of it has come.
        while last.post(&mut connection.pair, LAST, true).is_err() && Instant::now() < deadline {
            discard(&parts.sends, &mut batch);
        }
        while !has_flushed(&parts.sends, &mut batch) && Instant::now() < deadline {}
    }
    discard(&parts.receives, &mut batch);
}

/// Takes completions; whether the last piece of work was among them.
fn has_flushed(queue: &CompletionQueue, batch: &mut CompletionBatch) -> bool {
    let Ok(completions) = queue.poll(batch) else {
        return true;
    };
    completions
        .iter()
        .any(|one| one.identifier() == crate::notice::NOTICE_IDENTIFIER)
}

fn discard(queue: &CompletionQueue, batch: &mut CompletionBatch) {
    while queue.poll(batch).is_ok_and(|some| !some.is_empty()) {}
}
