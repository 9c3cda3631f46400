//! Running the host's programs, each with a deadline.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use thiserror::Error;

const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long what a stopped program had said is waited for: a child of it may hold its output open.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);
/// The end of a program's complaint is what matters.
const MAX_SHOWN: usize = 2_000;

#[derive(Debug, Error)]
pub enum ToolError {
    #[error("\"{tool}\" is not installed; apt-get install {package}")]
    Missing { tool: String, package: &'static str },
    #[error("cannot start \"{tool}\"")]
    Start {
        tool: String,
        #[source]
        source: std::io::Error,
    },
    #[error("\"{command}\" failed ({status}): {complaint}")]
    Failed {
        command: String,
        status: String,
        complaint: String,
    },
    #[error("\"{command}\" did not end within {} s and was stopped{}", .deadline.as_secs(), had_said(.said))]
    TooSlow {
        command: String,
        deadline: Duration,
        said: String,
    },
}

/// The Debian package that has a tool.
fn package(tool: &str) -> &'static str {
    match tool {
        "qemu-system-x86_64" => "qemu-system-x86",
        "qemu-system-aarch64" => "qemu-system-arm",
        "qemu-x86_64-static" | "qemu-aarch64-static" => "qemu-user-static",
        "arch-test" => "arch-test",
        "qemu-img" => "qemu-utils",
        "ssh" | "ssh-keygen" => "openssh-client",
        "newuidmap" => "uidmap",
        "mke2fs" => "e2fsprogs",
        "ip" => "iproute2",
        "unshare" | "nsenter" | "setpriv" | "mount" => "util-linux",
        "xz" => "xz-utils",
        _ => "mmdebstrap",
    }
}

/// Fails unless every tool is found on the search path (or in the sbin directories).
pub(crate) fn require(tools: &[&str]) -> Result<(), ToolError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for tool in tools {
        let found = std::env::split_paths(&path)
            .chain(["/usr/sbin".into(), "/sbin".into()])
            .any(|directory| directory.join(tool).is_file());
        if !found {
            return Err(missing(tool));
        }
    }
    Ok(())
}

fn missing(tool: &str) -> ToolError {
    ToolError::Missing {
        tool: tool.to_owned(),
        package: package(tool),
    }
}

/// Runs to the end and returns standard output; any failure carries standard error.
pub(crate) fn output(command: &mut Command, deadline: Duration) -> Result<String, ToolError> {
    let outcome = run(command, deadline)?;
    succeeded(command, outcome)
}

fn succeeded(command: &Command, outcome: ToolOutput) -> Result<String, ToolError> {
    if outcome.status.success() {
        return Ok(outcome.stdout);
    }
    Err(ToolError::Failed {
        command: shown(command),
        status: outcome.status.to_string(),
        complaint: tail(&outcome.stderr),
    })
}

/// The same, for a program that reads `input`; little enough to fit into a pipe.
pub(crate) fn output_for(
    command: &mut Command,
    input: &str,
    deadline: Duration,
) -> Result<String, ToolError> {
    use std::io::Write;
    let pipe = std::io::pipe().and_then(|(reader, mut writer)| {
        writer.write_all(input.as_bytes())?;
        Ok(reader)
    });
    let reader = pipe.map_err(|source| start(command, source))?;
    let outcome = run_from(command, reader.into(), deadline)?;
    succeeded(command, outcome)
}

#[derive(Debug)]
pub(crate) struct ToolOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs to the end, whatever its exit status.
pub(crate) fn run(command: &mut Command, deadline: Duration) -> Result<ToolOutput, ToolError> {
    run_from(command, Stdio::null(), deadline)
}

fn run_from(
    command: &mut Command,
    input: Stdio,
    deadline: Duration,
) -> Result<ToolOutput, ToolError> {
    command
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| start(command, source))?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let Some(status) = wait(&mut child, deadline) else {
        let _ = child.kill();
        let _ = child.wait();
        let until = Instant::now() + OUTPUT_TIMEOUT;
        let said = format!(
            "{}\n{}",
            last_words(stdout, until),
            last_words(stderr, until)
        );
        return Err(ToolError::TooSlow {
            command: shown(command),
            deadline,
            said: tail(&said),
        });
    };
    Ok(ToolOutput {
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

pub(crate) fn start(command: &Command, source: std::io::Error) -> ToolError {
    let tool = command.get_program().to_string_lossy().into_owned();
    if source.kind() == std::io::ErrorKind::NotFound {
        return missing(&tool);
    }
    ToolError::Start { tool, source }
}

/// The exit status, or `None` at the deadline.
pub(crate) fn wait(child: &mut Child, deadline: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) | Err(_) if started.elapsed() > deadline => return None,
            Ok(None) | Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

fn drain(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn last_words(output: std::thread::JoinHandle<String>, until: Instant) -> String {
    while !output.is_finished() && Instant::now() < until {
        std::thread::sleep(POLL_INTERVAL);
    }
    if output.is_finished() {
        output.join().unwrap_or_default()
    } else {
        String::new()
    }
}

fn had_said(said: &str) -> String {
    if said.is_empty() {
        "; it had said nothing".to_owned()
    } else {
        format!("; it had said: {said}")
    }
}

pub(crate) fn shown(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args().take(3) {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    if command.get_args().len() > 3 {
        text.push_str(" …");
    }
    text
}

pub(crate) fn tail(text: &str) -> String {
    let text = text.trim();
    let mut start = text.len().saturating_sub(MAX_SHOWN);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_missing_tool_names_its_package() {
        let text = require(&["sh", "qemu-img-nowhere"])
            .unwrap_err()
            .to_string();
        assert!(text.contains("qemu-img-nowhere"), "{text}");
        let text = missing("qemu-system-x86_64").to_string();
        assert!(text.ends_with("apt-get install qemu-system-x86"), "{text}");
    }

    #[test]
    fn a_slow_program_is_stopped_and_its_words_are_kept() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo so far >&2; exec sleep 30"]);
        let error = output(&mut command, Duration::from_millis(500)).unwrap_err();
        assert!(matches!(error, ToolError::TooSlow { .. }), "{error}");
        assert!(
            error.to_string().ends_with("it had said: so far"),
            "{error}"
        );
    }

    #[test]
    fn a_failure_carries_the_complaint() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no luck >&2; exit 3"]);
        let text = output(&mut command, Duration::from_secs(5))
            .unwrap_err()
            .to_string();
        assert!(text.contains("no luck") && text.contains('3'), "{text}");
    }
}
