//! The same work for many nodes at once.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use thiserror::Error;

/// Nodes that are worked on at once, unless told otherwise.
pub const BOUND: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FanOutItemError {
    #[error("it was given up after {} s", .0.as_secs())]
    Late(Duration),
    #[error("the work on it stopped half way; this is a bug, please report it")]
    Panicked,
    #[error("no thread could be started for it")]
    NoThread,
}

/// Runs `work` for every item, `bound` at a time, and gives the results in the items' order. Work that knows no end of its
/// own is left behind after `deadline`, and its place given to the next.
pub fn fan_out<T, R>(
    items: Vec<T>,
    bound: usize,
    deadline: Duration,
    work: impl Fn(usize, &T) -> R + Send + Sync + 'static,
) -> Vec<Result<R, FanOutItemError>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    let mut results: Vec<_> = items.iter().map(|_| None).collect();
    let mut waiting = items.into_iter().enumerate();
    let mut running: HashMap<usize, Instant> = HashMap::new();
    let (sender, receiver) = mpsc::channel();
    let work = Arc::new(work);
    loop {
        while running.len() < bound.max(1) {
            let Some((index, item)) = waiting.next() else {
                break;
            };
            let (sender, work) = (sender.clone(), Arc::clone(&work));
            let started = thread::Builder::new().spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| work(index, &item)));
                // Nobody listens any more if it is late.
                let _ = sender.send((index, result.map_err(|_| FanOutItemError::Panicked)));
            });
            if started.is_ok() {
                running.insert(index, Instant::now() + deadline);
            } else {
                results[index] = Some(Err(FanOutItemError::NoThread));
            }
        }
        let Some(next) = running.values().min() else {
            break;
        };
        let left = next.saturating_duration_since(Instant::now());
        if let Ok((index, result)) = receiver.recv_timeout(left) {
            if running.remove(&index).is_some() {
                results[index] = Some(result);
            }
            continue;
        }
        let now = Instant::now();
        running.retain(|index, until| {
            if *until > now {
                return true;
            }
            results[*index] = Some(Err(FanOutItemError::Late(deadline)));
            false
        });
    }
    results
        .into_iter()
        .map(|result| result.unwrap_or(Err(FanOutItemError::Panicked)))
        .collect()
}

/// As [`fan_out`], with every item worked on at the same time: for work that waits for the others, which a bound would
/// never let begin.
pub fn fan_out_together<T, R>(
    items: Vec<T>,
    deadline: Duration,
    work: impl Fn(usize, &T) -> R + Send + Sync + 'static,
) -> Vec<Result<R, FanOutItemError>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    let all = items.len();
    fan_out(items, all, deadline, work)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_keep_the_order_and_the_bound_holds() {
        static NOW: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let items: Vec<u64> = (0..40).collect();
        let results = fan_out(items, 7, Duration::from_secs(60), |_, item| {
            let now = NOW.fetch_add(1, Ordering::SeqCst) + 1;
            MOST.fetch_max(now, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(10 - item % 10));
            NOW.fetch_sub(1, Ordering::SeqCst);
            item * 2
        });
        let results: Vec<u64> = results.into_iter().map(Result::unwrap).collect();
        assert_eq!(results, (0..40).map(|item| item * 2).collect::<Vec<_>>());
        assert!(MOST.load(Ordering::SeqCst) <= 7);
    }

    #[test]
    fn one_that_hangs_or_panics_holds_up_nobody() {
        let started = Instant::now();
        let results = fan_out(vec![0, 1, 2, 3], 1, Duration::from_secs(1), |_, item| {
            match item {
                0 => thread::sleep(Duration::from_secs(60)),
                // No panic hook, which may print a trace for longer than the deadline.
                1 => std::panic::resume_unwind(Box::new("on purpose")),
                _ => {}
            }
            *item
        });
        let late = FanOutItemError::Late(Duration::from_secs(1));
        assert_eq!(
            results,
            [Err(late), Err(FanOutItemError::Panicked), Ok(2), Ok(3)]
        );
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn all_at_once_may_wait_for_each_other() {
        let count = 6 * BOUND;
        let barrier = std::sync::Barrier::new(count);
        let limit = Duration::from_secs(60);
        let results = fan_out_together(vec![(); count], limit, move |_, ()| {
            barrier.wait();
        });
        assert!(results.iter().all(Result::is_ok));
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(fan_out(Vec::<()>::new(), 4, Duration::ZERO, |_, ()| ()), []);
    }
}
