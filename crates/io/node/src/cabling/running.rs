//! Runs under way in this process, so that whoever ends it can have them put things back first.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

static RUNNING: Mutex<Vec<Stop>> = Mutex::new(Vec::new());

/// Asks work to end early.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Whether both are for the same work.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

pub(super) struct Running(Stop);

pub(super) fn enter(stop: &Stop) -> Running {
    running().push(stop.clone());
    Running(stop.clone())
}

impl Drop for Running {
    fn drop(&mut self) {
        running().retain(|stop| !stop.is(&self.0));
    }
}

fn running() -> MutexGuard<'static, Vec<Stop>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops every run, and waits until all have put things back, or for so long.
pub fn stop_all(patience: Duration) {
    let until = Instant::now() + patience;
    loop {
        {
            let running = running();
            running.iter().for_each(Stop::set);
            if running.is_empty() || Instant::now() >= until {
                return;
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
}
