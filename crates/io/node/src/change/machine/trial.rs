//! A person's own command.

use std::{
    io::Read,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crosstie_model::change::Ended;
use rustix::process::{Pid, Signal, kill_process_group};

/// The last of what it printed.
const SHOWN: usize = 16 << 10;
const LOOK: Duration = Duration::from_millis(50);

/// As root, with a usual environment, in a group of its own that ends with it.
pub(super) fn run(command: &[String], deadline: Duration) -> Result<Ended, String> {
    let (program, arguments) = command.split_first().ok_or("there is no command")?;
    let (mut output, writer) = std::io::pipe().map_err(|error| error.to_string())?;
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
        .stdout(writer.try_clone().map_err(|error| error.to_string())?)
        .stderr(writer)
        .process_group(0);
    let spawned = child.spawn();
    drop(child);
    let mut child = spawned.map_err(|error| format!("{program}: {error}"))?;
    let (sender, printed) = mpsc::channel();
    thread::spawn(move || {
        let mut last = Vec::new();
        let mut part = vec![0; 4096];
        while let Ok(length @ 1..) = output.read(&mut part) {
            last.extend_from_slice(&part[..length]);
            let extra = last.len().saturating_sub(SHOWN);
            last.drain(..extra);
            let _ = sender.send(last.clone());
        }
    });
    let until = Instant::now() + deadline;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status.code(),
            None if Instant::now() < until => thread::sleep(LOOK),
            None => {
                if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.wait();
                break None;
            }
        }
    };
    thread::sleep(LOOK);
    let output = printed.try_iter().last().unwrap_or_default();
    Ok(Ended {
        status,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}
