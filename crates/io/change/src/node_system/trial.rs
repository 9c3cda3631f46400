//! A person's own command.

use std::{
    io::Read,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crosstie_model::change::TryCommandResult;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::TrialError;

/// The last of what it printed.
const MAX_OUTPUT_BYTES: usize = 16 << 10;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// As root, with a usual environment, in a group of its own that ends with it.
pub(super) fn run(command: &[String], deadline: Duration) -> Result<TryCommandResult, TrialError> {
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
    let until = Instant::now() + deadline;
    let status = loop {
        match child.try_wait().map_err(TrialError::Wait)? {
            Some(status) => break status.code(),
            None if Instant::now() < until => thread::sleep(POLL_INTERVAL),
            None => {
                if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.wait();
                break None;
            }
        }
    };
    thread::sleep(POLL_INTERVAL);
    let output = printed.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(TryCommandResult {
        status,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

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

    fn print_much() {
        let script = "head -c 300000000 /dev/zero | tr '\\0' x; echo; echo the end";
        let command = ["sh", "-c", script].map(str::to_owned);
        let ended = run(&command, Duration::from_secs(120)).unwrap();
        assert_eq!(ended.status, Some(0));
        assert_eq!(ended.output.len(), MAX_OUTPUT_BYTES);
        assert!(ended.output.ends_with("xx\nthe end\n"));
        let peak = peak_kib();
        assert!(peak < LIMIT_KIB, "it took {peak} KiB");
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
