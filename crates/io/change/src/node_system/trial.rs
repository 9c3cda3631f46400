//! A person's own command.

use std::{
    io::Read,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use crosstie_model::change::TryCommandResult;
use crosstie_node::child_processes::{ChildRegistration, is_stopped, wait_for_killed};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use super::{command_record::CommandRecord, uptime};
use crate::error::TrialError;

/// The last of what it printed.
const MAX_OUTPUT_BYTES: usize = 16 << 10;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// As root, with a usual environment, in a group of its own, which is killed at the deadline. What a command that
/// has ended left running goes on. `record` tells others of it, should this
/// process be killed meanwhile.
pub(super) fn run(
    record: &CommandRecord,
    command: &[String],
    deadline: Duration,
) -> Result<TryCommandResult, TrialError> {
    run_by(uptime, record, command, deadline)
}

/// By the clock that the guard waits by: the command of a machine that slept past its deadline has no time left.
fn run_by(
    uptime: impl Fn() -> Duration,
    record: &CommandRecord,
    command: &[String],
    deadline: Duration,
) -> Result<TryCommandResult, TrialError> {
    let (program, arguments) = command.split_first().ok_or(TrialError::NoCommand)?;
    let (mut output, writer) = std::io::pipe().map_err(TrialError::Output)?;
    let mut child = Command::new(program);
    child
        .args(arguments)
        .env_clear()
        .env(
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )
        .env("HOME", "/root")
        .env("LANG", "C.UTF-8")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(TrialError::Output)?)
        .stderr(writer)
        .process_group(0);
    let spawned = child.spawn();
    drop(child);
    let mut child = spawned.map_err(|source| TrialError::Start {
        program: program.clone(),
        source,
    })?;
    // Whoever ends this process with a signal that it can catch ends the command first.
    let mut entry = Some(ChildRegistration::group(&child));
    let recorded = record.save(&child);
    // Shared rather than sent: what nobody has looked at yet must not pile up.
    let printed: Arc<Mutex<Vec<u8>>> = Arc::default();
    let last = Arc::clone(&printed);
    thread::spawn(move || {
        let mut part = vec![0; MAX_OUTPUT_BYTES];
        while let Ok(length @ 1..) = output.read(&mut part) {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            let extra = (last.len() + length).saturating_sub(MAX_OUTPUT_BYTES);
            last.drain(..extra);
            last.extend_from_slice(&part[..length]);
        }
    });
    let until = uptime() + deadline;
    while !has_ended(&child) {
        if recorded.is_err() || uptime() >= until || is_stopped() {
            if let Some(entry) = entry.take() {
                entry.signal(Signal::KILL);
            }
            break;
        }
        thread::sleep(POLL_INTERVAL);
    }
    drop(entry);
    let ended = wait_for_killed(&mut child).map_err(TrialError::Wait)?;
    let status = ended.ok_or(TrialError::Unkillable)?.code();
    recorded?;
    record.remove();
    thread::sleep(POLL_INTERVAL);
    let output = printed.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(TryCommandResult {
        status,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

/// Its number stays its own until it is waited for.
fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(
        waitid(WaitId::Pid(Pid::from_child(child)), options),
        Ok(None)
    )
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicU64, Ordering},
        time::Instant,
    };

    use crosstie_node::child_processes::StoppableWork;

    use super::*;

    /// Set for the process that has the test to itself: what is counted is the process's.
    const ALONE: &str = "CROSSTIE_TEST_ALONE";
    const LIMIT_KIB: u64 = 32 << 10;

    /// The most memory that this process ever had.
    fn peak_kib() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let words: Vec<&str> = line.unwrap().split_whitespace().collect();
        words[0].parse().unwrap()
    }

    fn run(command: &[&str], deadline: Duration) -> Result<TryCommandResult, TrialError> {
        let folder = tempfile::tempdir().unwrap();
        let record = CommandRecord::in_folder(folder.path().to_owned(), "0001");
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        super::run(&record, &command, deadline)
    }

    /// The guard rolls back as soon as the machine wakes up.
    #[test]
    fn a_command_ends_with_a_sleep_of_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let record = CommandRecord::in_folder(folder.path().to_owned(), "0001");
        let started = Instant::now();
        // It has slept for an hour by the second time that somebody looks.
        let hours = AtomicU64::new(0);
        let uptime = || Duration::from_secs(3600 * hours.fetch_add(1, Ordering::SeqCst));
        let command = ["sleep", "20"].map(str::to_owned);
        let ended = run_by(uptime, &record, &command, Duration::from_secs(60)).unwrap();
        assert_eq!(ended.status, None);
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    /// Killed with a signal that nobody can catch, as by the guard or for want of memory.
    #[test]
    fn a_command_whose_agent_is_gone_is_ended_by_its_record() {
        let folder = tempfile::tempdir().unwrap();
        let late = folder.path().join("late");
        let record = CommandRecord::in_folder(folder.path().to_owned(), "0001");
        let script = "(sleep 1; touch \"$1\") & sleep 30";
        let command = ["sh", "-c", script, "sh", late.to_str().unwrap()].map(str::to_owned);
        let ended = thread::scope(|scope| {
            let running = scope.spawn(|| super::run(&record, &command, Duration::from_secs(60)));
            thread::sleep(Duration::from_millis(300));
            // As the guard does, which knows no more than the folder.
            let of_guard = CommandRecord::in_folder(folder.path().to_owned(), "0001");
            of_guard.end_command().unwrap();
            running.join().unwrap().unwrap()
        });
        assert_eq!(ended.status, None);
        thread::sleep(Duration::from_millis(1200));
        assert!(!late.exists(), "it went on");
        record.end_command().unwrap();
    }

    /// Nothing by which a rollback could end it: it is not left to run.
    #[test]
    fn a_command_that_cannot_be_recorded_is_not_run_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let record = CommandRecord::in_folder(file, "0001");
        let started = Instant::now();
        let command = ["sleep", "20"].map(str::to_owned);
        let refused = super::run(&record, &command, Duration::from_secs(60));
        assert!(
            matches!(refused, Err(TrialError::Record { .. })),
            "{refused:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    fn print_much() {
        let script = "head -c 300000000 /dev/zero | tr '\\0' x; echo; echo the end";
        let ended = run(&["sh", "-c", script], Duration::from_secs(120)).unwrap();
        assert_eq!(ended.status, Some(0));
        assert_eq!(ended.output.len(), MAX_OUTPUT_BYTES);
        assert!(ended.output.ends_with("xx\nthe end\n"));
        let peak = peak_kib();
        assert!(peak < LIMIT_KIB, "it took {peak} KiB");
    }

    #[test]
    fn a_command_ends_with_the_work_that_it_was_run_for() {
        let folder = tempfile::tempdir().unwrap();
        let late = folder.path().join("late");
        let script = "sleep 1; touch \"$1\"";
        let command = ["sh", "-c", script, "sh", late.to_str().unwrap()];
        let work = StoppableWork::within(Duration::from_secs(60));
        let stopped = thread::scope(|scope| {
            let running = scope.spawn(|| work.run(|| run(&command, Duration::from_secs(60))));
            thread::sleep(Duration::from_millis(200));
            work.stop();
            running.join().unwrap().unwrap()
        });
        assert_eq!(stopped.status, None);
        thread::sleep(Duration::from_millis(1200));
        assert!(!late.exists(), "it went on");
    }

    #[test]
    fn much_output_takes_little_memory() {
        if std::env::var_os(ALONE).is_some() {
            print_much();
            return;
        }
        let name = "node_system::trial::tests::much_output_takes_little_memory";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
    }
}
