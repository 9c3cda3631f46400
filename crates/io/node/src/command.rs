//! Other programs' output: with a deadline, a bound, a bare environment, and never a shell.

mod complaint;

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::{fd::AsFd, unix::process::CommandExt},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use crosstie_facts::ReadGap;
use thiserror::Error;

use complaint::{NO_REASON, last_lines, refusal};

use crate::child_processes::{ChildRegistration, is_stopped, time_left, wait_for_killed};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Access, MemfdFlags, OFlags, memfd_create},
    io::Errno,
    process::{Pid, PidfdFlags, Signal},
};

/// Where the system's own programs are. The user's `PATH` is left alone: this may run as root.
const DIRECTORIES: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Longest standard error that is kept, the end of it.
const MAX_COMPLAINT: usize = 64 << 10;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How long and how much.
#[derive(Debug, Clone, Copy)]
pub struct CommandLimits {
    pub deadline: Duration,
    /// Bytes on standard output; more is a [`ReadGap::TooLarge`].
    pub output: usize,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self {
            // A loaded or emulated machine takes seconds to start a program.
            deadline: Duration::from_secs(6),
            output: 4 << 20,
        }
    }
}

/// A program that has ended, with whatever status.
#[derive(Debug)]
pub struct FinishedCommand {
    pub status: ExitStatus,
    pub output: Vec<u8>,
    complaint: Vec<u8>,
}

impl FinishedCommand {
    /// The end of what it said, for people: on standard error, or else on its output. Warnings come first there, and the reason
    /// comes last.
    pub fn last_words(&self) -> String {
        let said = [&self.complaint, &self.output].map(|said| last_lines(said));
        said.into_iter()
            .flatten()
            .next()
            .unwrap_or_else(|| NO_REASON.to_owned())
    }
}

/// What `program` prints. One that is not installed is absent; one that asks for root is denied.
pub fn run(program: &str, arguments: &[&str], bounds: CommandLimits) -> Result<Vec<u8>, ReadGap> {
    succeeded(run_to_end(program, arguments, &[], bounds)?)
}

/// Like [`run`], with these variables besides the bare environment's own.
pub fn run_with_environment(
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
    bounds: CommandLimits,
) -> Result<Vec<u8>, ReadGap> {
    succeeded(run_to_end(program, arguments, environment, bounds)?)
}

/// Like [`run`], with `input` as standard input: a file in memory, which neither side can make the other wait for.
pub fn run_with_input(
    program: &str,
    arguments: &[&str],
    input: &[u8],
    bounds: CommandLimits,
) -> Result<Vec<u8>, ReadGap> {
    let file = memory_file(input).map_err(|error| failed(&error))?;
    succeeded(run_with(program, arguments, &[], file.into(), bounds)?)
}

fn memory_file(content: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

fn succeeded(finished: FinishedCommand) -> Result<Vec<u8>, ReadGap> {
    if finished.status.success() {
        return Ok(finished.output);
    }
    let complaint = String::from_utf8_lossy(&finished.complaint);
    Err(refusal(finished.status, &complaint))
}

/// As [`run`], for a program whose status is an answer.
pub fn run_to_end(
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
    bounds: CommandLimits,
) -> Result<FinishedCommand, ReadGap> {
    run_with(program, arguments, environment, Stdio::null(), bounds)
}

fn run_with(
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
    input: Stdio,
    bounds: CommandLimits,
) -> Result<FinishedCommand, ReadGap> {
    if is_stopped() {
        return Err(ReadGap::Failed(
            "what it was wanted for was cancelled".to_owned(),
        ));
    }
    let path = find(program).ok_or(ReadGap::Absent)?;
    // The rest of the time is for whoever puts the answers together: a slow program must cost its own answer only.
    let share = time_left().map_or(bounds.deadline, |left| left.mul_f64(0.75));
    let until = Instant::now() + bounds.deadline.min(share);
    let child = Command::new(path)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        // netplan is Python, which on a full disk keeps half of what it compiles, and fails on that half ever after.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(environment.iter().copied())
        .current_dir("/")
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| failed(&error))?;
    let mut running = Running::new(child);
    let drained = running.drain(bounds.output, until);
    let (output, complaint) = drained.map_err(|stop| match stop {
        Stop::Deadline => {
            let rest = if running.kill() {
                ""
            } else {
                "; it was killed and does not end, and is left"
            };
            let seconds = bounds.deadline.as_secs();
            ReadGap::Failed(format!("gave no answer within {seconds} s{rest}"))
        }
        Stop::TooLarge => ReadGap::TooLarge,
        Stop::System(errno) => failed(&errno.into()),
    })?;
    let status = running.finish().map_err(|error| failed(&error))?;
    Ok(FinishedCommand {
        status,
        output,
        complaint,
    })
}

/// Waits for a program that must not be cut off: it is no child that ends with this process, or with the work that it was
/// started for. Whoever stops waiting, at the deadline or because the work was cancelled, leaves it to its end.
pub fn run_to_its_end(
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
    deadline: Duration,
) -> Result<(), RunToEndError> {
    let path = find(program).ok_or_else(|| RunToEndError::Missing {
        program: program.to_owned(),
    })?;
    let failed = |source: io::Error| RunToEndError::System {
        program: program.to_owned(),
        source,
    };
    // Not a pipe: the program would be killed by the first word that nobody hears.
    let said = memfd_create("output", MemfdFlags::CLOEXEC).map(File::from);
    let mut said = said.map_err(|errno| failed(errno.into()))?;
    let output = || said.try_clone().map_err(failed);
    let mut child = Command::new(path)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .envs(environment.iter().copied())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(output()?)
        .stderr(output()?)
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let until = Instant::now() + deadline;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if is_stopped() || Instant::now() >= until {
            thread::spawn(move || child.wait());
            return Err(RunToEndError::StillAtWork {
                program: program.to_owned(),
            });
        }
        thread::sleep(POLL_INTERVAL);
    };
    if status.success() {
        return Ok(());
    }
    Err(RunToEndError::Failed {
        command: format!("{program} {}", arguments.join(" ")),
        status,
        complaint: end_of(&mut said)
            .ok()
            .and_then(|said| last_lines(&said))
            .unwrap_or_else(|| NO_REASON.to_owned()),
    })
}

/// Why a program that is not cut off has not done its work.
#[derive(Debug, Error)]
pub enum RunToEndError {
    #[error("{program} is not installed")]
    Missing { program: String },
    #[error("{program}")]
    System {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("{program} is still at work and is left to finish; try again when it has")]
    StillAtWork { program: String },
    #[error("{command}: {status}: {complaint}")]
    Failed {
        command: String,
        status: ExitStatus,
        complaint: String,
    },
}

fn end_of(said: &mut File) -> io::Result<Vec<u8>> {
    let length = said.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(MAX_COMPLAINT as u64);
    said.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    said.take(MAX_COMPLAINT as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The program's full path, if it is installed and may be run.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return None;
    }
    DIRECTORIES
        .iter()
        .map(|directory| PathBuf::from(directory).join(program))
        .find(|path| path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok())
}

fn failed(error: &std::io::Error) -> ReadGap {
    ReadGap::Failed(error.to_string())
}

/// A child in a process group of its own, which ends with the value.
struct Running {
    child: Child,
    /// Until it is waited for.
    entry: Option<ChildRegistration>,
}

enum Stop {
    Deadline,
    TooLarge,
    System(Errno),
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Self {
        Self::System(errno)
    }
}

impl Running {
    fn new(child: Child) -> Self {
        let entry = Some(ChildRegistration::group(&child));
        Self { child, entry }
    }

    /// Reads both pipes until the child has ended. A grandchild that keeps them open is not waited for.
    fn drain(&mut self, limit: usize, until: Instant) -> Result<(Vec<u8>, Vec<u8>), Stop> {
        let pid = Pid::from_child(&self.child);
        let ended = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        let (Some(mut output), Some(mut complaint)) =
            (self.child.stdout.take(), self.child.stderr.take())
        else {
            return Err(Errno::BADF.into());
        };
        rustix::fs::fcntl_setfl(&output, OFlags::NONBLOCK)?;
        rustix::fs::fcntl_setfl(&complaint, OFlags::NONBLOCK)?;
        let mut said = Sink::new(limit);
        let mut complained = Sink::new(MAX_COMPLAINT).keeping_the_end();
        loop {
            let child_ended = wait(&ended, [&output, &complaint], [&said, &complained], until)?;
            said.take(&mut output)?;
            complained.take(&mut complaint)?;
            if said.overflowed {
                return Err(Stop::TooLarge);
            }
            if child_ended {
                return Ok((said.bytes, complained.bytes));
            }
        }
    }

    fn finish(mut self) -> std::io::Result<ExitStatus> {
        self.end_group();
        self.child.wait()
    }

    /// Whether it is gone then.
    fn kill(&mut self) -> bool {
        self.end_group();
        !matches!(wait_for_killed(&mut self.child), Ok(None))
    }

    /// Until it is waited for, the child's number is its own, so the group cannot be another's.
    fn end_group(&mut self) {
        if let Some(entry) = self.entry.take() {
            entry.signal(Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.entry.is_some() && !self.kill() {
            tracing::warn!("process {} was killed and does not end", self.child.id());
        }
    }
}

/// Waits until a pipe has something to say or the child has ended, which is the answer.
fn wait(
    ended: &impl AsFd,
    pipes: [&dyn AsFd; 2],
    sinks: [&Sink; 2],
    until: Instant,
) -> Result<bool, Stop> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Stop::Deadline);
    }
    let mut waited = vec![PollFd::new(ended, PollFlags::IN)];
    for (pipe, sink) in pipes.into_iter().zip(sinks) {
        if !sink.ended {
            waited.push(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN));
        }
    }
    let timeout = Timespec::try_from(left).map_err(|_| Stop::Deadline)?;
    match poll(&mut waited, Some(&timeout)) {
        Ok(0) => Err(Stop::Deadline),
        Ok(_) => Ok(!waited[0].revents().is_empty()),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// What came out of a pipe so far.
struct Sink {
    bytes: Vec<u8>,
    limit: usize,
    keeps_end: bool,
    ended: bool,
    overflowed: bool,
}

impl Sink {
    fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
            keeps_end: false,
            ended: false,
            overflowed: false,
        }
    }

    /// Where more comes than it holds, the first of it goes.
    fn keeping_the_end(mut self) -> Self {
        self.keeps_end = true;
        self
    }

    /// Reads what is there now: as much as the largest pipe holds, so that one that never ends cannot keep us.
    fn take(&mut self, pipe: &mut impl Read) -> Result<(), Stop> {
        let mut chunk = [0; 16 << 10];
        for _ in 0..64 {
            if self.ended {
                break;
            }
            match pipe.read(&mut chunk) {
                Ok(0) => self.ended = true,
                Ok(length) => {
                    if self.keeps_end {
                        let extra = (self.bytes.len() + length).saturating_sub(self.limit);
                        self.bytes.drain(..extra);
                    }
                    let room = self.limit.saturating_sub(self.bytes.len());
                    self.bytes.extend_from_slice(&chunk[..length.min(room)]);
                    self.overflowed |= length > room;
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO).into());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child_processes::StoppableWork;

    fn bounds(milliseconds: u64, output: usize) -> CommandLimits {
        CommandLimits {
            deadline: Duration::from_millis(milliseconds),
            output,
        }
    }

    #[test]
    fn output_comes_back_whole() {
        let output = run("seq", &["1", "100000"], CommandLimits::default()).unwrap();
        assert_eq!(output.len(), 588_895);
    }

    #[test]
    fn input_goes_in_whole() {
        let input = vec![b'x'; 300_000];
        let output = run_with_input("cat", &[], &input, CommandLimits::default());
        assert_eq!(output.as_deref(), Ok(input.as_slice()));
        // A program that does not read it is not waited for.
        assert_eq!(
            run_with_input("true", &[], &input, CommandLimits::default()),
            Ok(Vec::new())
        );
    }

    #[test]
    fn the_environment_is_bare() {
        let output = run("env", &[], CommandLimits::default()).unwrap();
        let text = String::from_utf8(output).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        let path = format!("PATH={PATH}");
        assert_eq!(lines, ["LC_ALL=C", &path, "PYTHONDONTWRITEBYTECODE=1"]);
    }

    #[test]
    fn gaps_have_their_reasons() {
        let gap =
            |program: &str, arguments: &[&str]| run(program, arguments, CommandLimits::default());
        assert_eq!(gap("no-such-program", &[]), Err(ReadGap::Absent));
        assert_eq!(gap("../bin/true", &[]), Err(ReadGap::Absent));
        let failed = gap("false", &[]);
        let expected = "exit status: 1: no reason given".to_owned();
        assert_eq!(failed, Err(ReadGap::Failed(expected)));
    }

    /// As it is with apt-get when somebody presses Ctrl-C: the work is stopped, and every child of this process is ended.
    #[test]
    fn what_runs_to_its_end_is_not_ended_with_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let (begun, done) = (folder.path().join("begun"), folder.path().join("done"));
        let script = format!(
            "trap '' PIPE; touch {}; sleep 1; echo said; touch {}",
            begun.display(),
            done.display()
        );
        let arguments = ["-c", script.as_str()];
        let work = StoppableWork::within(Duration::from_secs(60));
        let stopped = thread::scope(|scope| {
            let running = scope.spawn(|| {
                work.run(|| run_to_its_end("sh", &arguments, &[], Duration::from_secs(60)))
            });
            while !begun.exists() {
                thread::sleep(Duration::from_millis(10));
            }
            work.stop();
            running.join().unwrap()
        });
        let error = stopped.unwrap_err();
        assert!(
            matches!(error, RunToEndError::StillAtWork { .. }),
            "{error}"
        );
        let until = Instant::now() + Duration::from_secs(10);
        while !done.exists() {
            assert!(Instant::now() < until, "it was cut off");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn what_ran_to_its_end_says_why_it_failed() {
        let run =
            |script: &str| run_to_its_end("sh", &["-c", script], &[], Duration::from_secs(60));
        assert!(run("echo much; exit 0").is_ok());
        let why = run("echo Reading; echo 'E: Unable to locate package x' >&2; exit 100");
        let why = why.unwrap_err().to_string();
        assert!(
            why.ends_with("exit status: 100: Reading; E: Unable to locate package x"),
            "{why}"
        );
        let why = run_to_its_end("no-such-program", &[], &[], Duration::ZERO);
        let why = why.unwrap_err().to_string();
        assert_eq!(why, "no-such-program is not installed");
    }

    #[test]
    fn a_deadline_ends_the_whole_group() {
        let started = Instant::now();
        let script = "sleep 30 & echo started; sleep 30";
        let gap = run("sh", &["-c", script], bounds(200, 1000));
        let expected = ReadGap::Failed("gave no answer within 0 s".to_owned());
        assert_eq!(gap, Err(expected));
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_grandchild_on_the_pipe_is_not_waited_for() {
        let started = Instant::now();
        let output = run(
            "sh",
            &["-c", "sleep 30 & echo done"],
            CommandLimits::default(),
        );
        assert_eq!(output, Ok(b"done\n".to_vec()));
        assert!(started.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn endless_output_is_cut_off() {
        let gap = run("yes", &[], bounds(5000, 1 << 20));
        assert_eq!(gap, Err(ReadGap::TooLarge));
        // Neither pipe may fill up and stall the other.
        let script = "yes | head -c 300000 >&2; echo done";
        let output = run("sh", &["-c", script], bounds(5000, 1 << 20));
        assert_eq!(output, Ok(b"done\n".to_vec()));
    }
}
