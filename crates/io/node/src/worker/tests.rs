//! The worker in these tests is this test program itself, which is started again for a test that begins with [`serve_as_worker`].

use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::StopFlag;

const LIFETIME: &str = "CROSSTIE_TEST_WORKER_SECONDS";
const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Does what it is told to.
struct Script;

impl WorkerEngine for Script {
    fn answer(&mut self, ask: &[u8], context: &WorkerContext) -> Vec<u8> {
        match ask {
            b"abort" => {
                eprintln!("a library gives up");
                std::process::abort();
            }
            b"hang" => loop {
                thread::sleep(Duration::from_secs(1));
            },
            b"wait" => {
                while !context.stop.is_set() {
                    thread::sleep(Duration::from_millis(5));
                }
                b"stopped".to_vec()
            }
            b"flood" => {
                for number in 0_u32..10_000 {
                    context.emit(&number.to_le_bytes());
                }
                b"flooded".to_vec()
            }
            b"print" => {
                println!("a library prints");
                b"printed".to_vec()
            }
            b"pid" => std::process::id().to_string().into_bytes(),
            b"child" => {
                let mut child = Command::new("sleep").arg("60").spawn().unwrap();
                let pid = child.id();
                thread::spawn(move || child.wait());
                pid.to_string().into_bytes()
            }
            other => other.to_vec(),
        }
    }
}

/// Where this process was started as a worker.
fn serve_as_worker() {
    if let Ok(seconds) = std::env::var(LIFETIME) {
        let lifetime = Duration::from_secs(seconds.parse().unwrap());
        serve(Script, lifetime).unwrap();
        std::process::exit(0);
    }
}

fn command(seconds: u32) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .args([
            "--exact",
            "worker::tests::it_answers_and_what_libraries_print_disturbs_nobody",
            "--nocapture",
        ])
        .env(LIFETIME, seconds.to_string());
    command
}

fn start() -> WorkerProcess {
    WorkerProcess::start(command(60)).unwrap()
}

fn ask(worker: &mut WorkerProcess, ask: &str, deadline: Duration) -> Result<String, WorkerError> {
    let answer = worker.ask(ask.as_bytes(), deadline, &StopFlag::default(), &mut |_| ())?;
    Ok(String::from_utf8(answer).unwrap())
}

fn exists(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn is_gone_soon(pid: &str) -> bool {
    let until = Instant::now() + CALL_TIMEOUT;
    while exists(pid) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    !exists(pid)
}

#[test]
fn it_answers_and_what_libraries_print_disturbs_nobody() {
    serve_as_worker();
    let mut worker = start();
    assert_eq!(ask(&mut worker, "one", CALL_TIMEOUT).unwrap(), "one");
    assert_eq!(ask(&mut worker, "print", CALL_TIMEOUT).unwrap(), "printed");
    let large = "x".repeat(1 << 20);
    assert_eq!(ask(&mut worker, &large, CALL_TIMEOUT).unwrap(), large);
    let mut events = 0_u32;
    let answer = worker
        .ask(b"flood", CALL_TIMEOUT, &StopFlag::default(), &mut |_| {
            events += 1;
        })
        .unwrap();
    assert_eq!((&answer[..], events), (&b"flooded"[..], 10_000));
}

#[test]
fn a_crash_is_told_with_its_last_words() {
    let mut worker = start();
    let error = ask(&mut worker, "abort", CALL_TIMEOUT)
        .unwrap_err()
        .to_string();
    assert!(error.contains("(SIGABRT)"), "{error}");
    assert!(error.contains("a library gives up"), "{error}");
    let again = ask(&mut worker, "one", CALL_TIMEOUT).unwrap_err();
    assert!(matches!(again, WorkerError::Gone), "{again:?}");
}

#[test]
fn one_that_hangs_is_ended_at_its_deadline() {
    let mut worker = start();
    let pid = ask(&mut worker, "pid", CALL_TIMEOUT).unwrap();
    let began = Instant::now();
    let error = ask(&mut worker, "hang", Duration::from_millis(300)).unwrap_err();
    assert!(matches!(error, WorkerError::Deadline { .. }), "{error:?}");
    assert!(began.elapsed() < CALL_TIMEOUT);
    assert!(!exists(&pid));
}

#[test]
fn stopped_work_ends_early_and_the_worker_stays() {
    let mut worker = start();
    let stop = StopFlag::default();
    let later = stop.clone();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        later.set();
    });
    let answer = worker
        .ask(b"wait", CALL_TIMEOUT, &stop, &mut |_| ())
        .unwrap();
    assert_eq!(answer, b"stopped");
    assert_eq!(ask(&mut worker, "one", CALL_TIMEOUT).unwrap(), "one");
}

#[test]
fn one_that_does_not_listen_is_ended_when_it_is_stopped() {
    let mut worker = start();
    let stop = StopFlag::default();
    stop.set();
    let error = worker
        .ask(b"hang", CALL_TIMEOUT, &stop, &mut |_| ())
        .unwrap_err();
    assert!(matches!(error, WorkerError::Stopped), "{error:?}");
}

#[test]
fn it_ends_with_its_holder_and_so_does_what_it_started() {
    let mut worker = start();
    let pid = ask(&mut worker, "pid", CALL_TIMEOUT).unwrap();
    let child = ask(&mut worker, "child", CALL_TIMEOUT).unwrap();
    drop(worker);
    assert!(!exists(&pid));
    assert!(is_gone_soon(&child));
}

#[test]
fn it_ends_when_its_input_ends_even_while_its_engine_hangs() {
    let mut child = command(60)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let hang = frames::encode(frames::WorkerFrameKind::Request, b"hang").unwrap();
    input.write_all(&hang).unwrap();
    drop(input);
    let until = Instant::now() + CALL_TIMEOUT;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn it_ends_when_its_lifetime_is_over() {
    let mut worker = WorkerProcess::start(command(1)).unwrap();
    let error = ask(&mut worker, "hang", CALL_TIMEOUT)
        .unwrap_err()
        .to_string();
    assert!(error.contains("its lifetime is over"), "{error}");
}

#[test]
fn a_stopped_process_holds_nobody_up() {
    let mut worker = start();
    let pid = ask(&mut worker, "pid", CALL_TIMEOUT).unwrap();
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let large = "x".repeat(1 << 20);
    let error = ask(&mut worker, &large, Duration::from_millis(300)).unwrap_err();
    assert!(matches!(error, WorkerError::Deadline { .. }), "{error:?}");
}

#[test]
fn what_is_no_worker_is_told() {
    let mut other = Command::new("/bin/sh");
    other.args(["-c", "echo hello; echo no such option >&2; exit 3"]);
    let error = WorkerProcess::start(other).err().unwrap().to_string();
    assert!(error.contains("ended with status 3"), "{error}");
    assert!(error.contains("no such option"), "{error}");
    let missing = WorkerProcess::start(Command::new("/nowhere/at/all"))
        .err()
        .unwrap();
    assert!(matches!(missing, WorkerError::Start(_)), "{missing:?}");
}

#[test]
fn garbage_ends_it_and_fills_no_memory() {
    for (garbage, said) in [
        // Empty questions without end.
        (
            [0, 0, 0, 1, 0].repeat(12 << 20),
            "asked before it had answered",
        ),
        (vec![0; 64 << 20], "an empty frame"),
        (vec![0xff; 16], "cannot be read"),
        (b"\0\0\0\x06\0ab".to_vec(), "cannot be read"),
    ] {
        let mut child = command(60)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // It may end before it has read all of it.
        let _ = input.write_all(&garbage);
        drop(input);
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}
