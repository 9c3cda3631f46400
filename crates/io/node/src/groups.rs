//! Children that must not outlive this process: whoever starts one enters it here.

use std::{
    process::Child,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

static RUNNING: Mutex<Vec<Target>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    pid: Pid,
    whole_group: bool,
}

impl Target {
    fn signal(self, signal: Signal) {
        // One that has ended by itself needs no signal.
        let _ = if self.whole_group {
            kill_process_group(self.pid, signal)
        } else {
            kill_process(self.pid, signal)
        };
    }
}

/// A child's entry. Drop it before the child is waited for: from then on its number may be another's.
#[derive(Debug)]
pub struct Entry(Target);

impl Entry {
    /// A child that leads a process group of its own.
    pub fn group(child: &Child) -> Self {
        Self::new(child, true)
    }

    /// A child in our own process group.
    pub fn single(child: &Child) -> Self {
        Self::new(child, false)
    }

    fn new(child: &Child, whole_group: bool) -> Self {
        let target = Target {
            pid: Pid::from_child(child),
            whole_group,
        };
        running().push(target);
        Self(target)
    }

    pub fn signal(&self, signal: Signal) {
        self.0.signal(signal);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        running().retain(|target| *target != self.0);
    }
}

/// Sends a signal to every child that is entered.
pub fn signal_all(signal: Signal) {
    for target in running().iter() {
        target.signal(signal);
    }
}

fn running() -> MutexGuard<'static, Vec<Target>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::CommandExt, process::Command};

    use super::*;

    #[test]
    fn an_entered_group_ends_and_leaves() {
        let mut child = Command::new("sleep")
            .arg("30")
            .process_group(0)
            .spawn()
            .unwrap();
        let entry = Entry::group(&child);
        assert!(running().contains(&entry.0));
        entry.signal(Signal::KILL);
        let target = entry.0;
        drop(entry);
        assert!(!running().contains(&target));
        assert!(!child.wait().unwrap().success());
    }
}
