//! Children that must not outlive this process, or the work that they were started for: whoever starts one enters it here.

use std::{
    cell::RefCell,
    io,
    process::{Child, ExitStatus},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// For a child that was killed to be gone.
const KILLED_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

static RUNNING: Mutex<Vec<Target>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    pid: Pid,
    whole_group: bool,
    /// The number of the [`StoppableWork`] that it was started for.
    work: Option<u64>,
}

thread_local! {
    static CURRENT: RefCell<Option<StoppableWork>> = const { RefCell::new(None) };
}

/// A piece of work that can be stopped with every child that was started for it.
#[derive(Debug, Clone)]
pub struct StoppableWork {
    number: u64,
    stopped: Arc<AtomicBool>,
    until: Instant,
}

impl StoppableWork {
    /// Nobody waits for it any longer than this.
    pub fn within(limit: Duration) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            stopped: Arc::default(),
            until: Instant::now() + limit,
        }
    }

    /// Does it. Threads that it starts take part if what they do is [`inherited`].
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Before(Option<StoppableWork>);
        impl Drop for Before {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _before = Before(CURRENT.replace(Some(self.clone())));
        work()
    }

    /// Kills its children, and those that it may still start.
    pub fn stop(&self) {
        let running = running();
        self.stopped.store(true, Ordering::SeqCst);
        let own = running.iter();
        for target in own.filter(|target| target.work == Some(self.number)) {
            target.signal(Signal::KILL);
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

/// Whether what this thread does is for work that was stopped.
pub fn is_stopped() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(StoppableWork::is_stopped))
}

/// How long what this thread does is still waited for; nothing where nobody set a limit.
pub fn time_left() -> Option<Duration> {
    let until = CURRENT.with_borrow(|current| current.as_ref().map(|work| work.until));
    until.map(|until| until.saturating_duration_since(Instant::now()))
}

/// For another thread, as a part of what this one works on.
pub fn inherited<R>(work: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let current = CURRENT.with_borrow(Clone::clone);
    move || match current {
        Some(current) => current.run(work),
        None => work(),
    }
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
pub struct ChildRegistration(Target);

impl ChildRegistration {
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
            work: CURRENT.with_borrow(|current| current.as_ref().map(|work| work.number)),
        };
        let mut running = running();
        running.push(target);
        if is_stopped() {
            target.signal(Signal::KILL);
        }
        Self(target)
    }

    pub fn signal(&self, signal: Signal) {
        self.0.signal(signal);
    }
}

impl Drop for ChildRegistration {
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

/// The status of a child that was killed or has ended. `None`: the kernel holds it in a wait that no signal ends (`modprobe -r`
/// of a driver that is busy), and whoever goes on leaves it.
pub fn wait_for_killed(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    wait_within(child, KILLED_TIMEOUT)
}

fn wait_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn running() -> MutexGuard<'static, Vec<Target>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::CommandExt, process::Command};

    use super::*;

    fn sleeping() -> Child {
        let mut command = Command::new("sleep");
        command.arg("30").process_group(0).spawn().unwrap()
    }

    /// As one that a signal does not end.
    #[test]
    fn a_child_that_does_not_end_is_not_waited_for() {
        let mut child = sleeping();
        let started = Instant::now();
        let left = wait_within(&mut child, Duration::from_millis(100)).unwrap();
        assert!(left.is_none() && started.elapsed() < Duration::from_secs(10));
        child.kill().unwrap();
        let ended = wait_for_killed(&mut child).unwrap();
        assert!(!ended.unwrap().success());
    }

    #[test]
    fn stopped_work_ends_its_own_children() {
        let limit = Duration::from_secs(60);
        let (work, other) = (StoppableWork::within(limit), StoppableWork::within(limit));
        let (mut early, mut bystander) = (sleeping(), sleeping());
        let _bystander = other.run(|| ChildRegistration::group(&bystander));
        let entry = work.run(|| {
            let child = inherited(|| ChildRegistration::group(&early));
            std::thread::scope(|scope| scope.spawn(child).join().unwrap())
        });
        work.stop();
        assert!(!early.wait().unwrap().success());
        drop(entry);
        let mut late = sleeping();
        let _late = work.run(|| {
            assert!(is_stopped());
            ChildRegistration::group(&late)
        });
        assert!(!late.wait().unwrap().success());
        assert!(!is_stopped());
        assert!(bystander.try_wait().unwrap().is_none());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }

    #[test]
    fn an_entered_group_ends_and_leaves() {
        let mut child = Command::new("sleep")
            .arg("30")
            .process_group(0)
            .spawn()
            .unwrap();
        let entry = ChildRegistration::group(&child);
        assert!(running().contains(&entry.0));
        entry.signal(Signal::KILL);
        let target = entry.0;
        drop(entry);
        assert!(!running().contains(&target));
        assert!(!child.wait().unwrap().success());
    }
}
