//! After an error: what lies behind it is told, and nothing stays under way.

use std::time::{Duration, Instant};

use crosstie_verbs::{
    AsyncEventKind as Kind, CompletionBatch, CompletionError, CompletionQueue, CompletionStatus,
};

use crate::{
    empty_notice::{EmptyNotice, LAST_NOTICE},
    engine::{EngineParts, RdmaConnection},
    error::RdmaRunError,
};

/// What failed first is there before what was flushed after it, or a moment later in the other queue.
const CAUSE_TIMEOUT: Duration = Duration::from_millis(50);

/// A device that does not end its work in this time is left alone; destroying the queue pairs ends it, or the worker does.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// What lies behind an error. A failed queue pair flushes sends and receives alike, and the first of them that is seen need not
/// be the one that failed; and a port that goes down makes every packet fail.
pub(crate) fn cause_of(parts: &EngineParts, error: RdmaRunError) -> RdmaRunError {
    let RdmaRunError::Completion(seen) = &error else {
        return error;
    };
    let cause = if seen.status == CompletionStatus::FLUSHED {
        first_failure(parts)
    } else {
        Some(*seen)
    };
    let is_explained = match cause.map(|cause| cause.status) {
        None => |_| true,
        Some(CompletionStatus::RETRY_EXCEEDED) => {
            |kind| matches!(kind, Kind::PortDown | Kind::DeviceFatal)
        }
        Some(_) => |kind| kind == Kind::DeviceFatal,
    };
    match parts.check_events(Instant::now()) {
        Err(RdmaRunError::Event(kind)) if is_explained(kind) => RdmaRunError::Event(kind),
        _ => cause.map_or(error, RdmaRunError::Completion),
    }
}

fn first_failure(parts: &EngineParts) -> Option<CompletionError> {
    let deadline = Instant::now() + CAUSE_TIMEOUT;
    let mut batch = CompletionBatch::new(64);
    while Instant::now() < deadline {
        for queue in [&parts.sends, &parts.receives] {
            let completions = queue.poll(&mut batch).ok()?;
            let mut errors = completions.iter().filter_map(|one| one.result().err());
            if let Some(error) = errors.find(|error| error.status != CompletionStatus::FLUSHED) {
                return Some(error);
            }
        }
    }
    None
}

/// Ends what is under way on every queue pair, and waits until the device has let go of it. Whatever goes wrong here is no news:
/// the test has failed.
pub(crate) fn flush(parts: &EngineParts, connections: &mut [RdmaConnection]) {
    let deadline = Instant::now() + FLUSH_TIMEOUT;
    let Ok(mut last) = EmptyNotice::new(&parts.memory) else {
        return;
    };
    let mut batch = CompletionBatch::new(64);
    for connection in connections.iter_mut() {
        if connection.pair.end_work().is_err() {
            continue;
        }
        // Work is flushed in its order, so the one that is posted now comes last. A queue may be full until some of it has come.
        while last.post(&mut connection.pair, LAST_NOTICE, true).is_err()
            && Instant::now() < deadline
        {
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
        .any(|one| one.identifier() == crate::empty_notice::NOTICE_IDENTIFIER)
}

fn discard(queue: &CompletionQueue, batch: &mut CompletionBatch) {
    while queue.poll(batch).is_ok_and(|some| !some.is_empty()) {}
}
