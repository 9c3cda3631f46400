//! The worker's side.

use std::{
    fs::File,
    io::{self, Read, Write},
    process,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use rustix::{io::fcntl_dupfd_cloexec, stdio};

use super::{
    MAGIC,
    frames::{WorkerFrameKind, encode, read},
};
use crate::StopFlag;

/// For an engine to let go of its hardware, once nobody waits for it.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// What a worker does.
pub trait WorkerEngine {
    fn answer(&mut self, ask: &[u8], context: &WorkerContext) -> Vec<u8>;
}

pub struct WorkerContext {
    /// Set when nobody waits for the answer any more.
    pub stop: StopFlag,
    output: Output,
}

impl WorkerContext {
    /// How far it is. The reader may be slow: a few a second are enough.
    pub fn emit(&self, event: &[u8]) {
        // Without a reader the input ends, too.
        let _ = self.output.write(WorkerFrameKind::Event, event);
    }
}

#[derive(Clone)]
struct Output(Arc<Mutex<File>>);

impl Output {
    fn write(&self, kind: WorkerFrameKind, body: &[u8]) -> io::Result<()> {
        let frame = encode(kind, body)?;
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&frame)
    }
}

/// Answers until the input ends; the process ends itself when its lifetime is over.
pub fn serve(mut engine: impl WorkerEngine, lifetime: Duration) -> io::Result<()> {
    // What libraries print goes where errors go.
    let output = File::from(fcntl_dupfd_cloexec(stdio::stdout(), 3)?);
    stdio::dup2_stdout(stdio::stderr())?;
    let input = File::from(fcntl_dupfd_cloexec(stdio::stdin(), 3)?);
    (&output).write_all(MAGIC)?;
    let output = Output(Arc::new(Mutex::new(output)));
    thread::Builder::new().spawn(move || {
        thread::sleep(lifetime);
        log_error("its lifetime is over");
        process::exit(1);
    })?;
    let current = Arc::<Mutex<StopFlag>>::default();
    // One is asked for at a time; whoever asks for more is no agent of ours.
    let (asks, asked) = sync_channel(1);
    let reader_stop = Arc::clone(&current);
    thread::Builder::new().spawn(move || read_all(input, &asks, &reader_stop))?;
    answer_all(&mut engine, &asked, &current, &output)
}

/// The questions, in order; each has a [`StopFlag`] of its own.
fn answer_all(
    engine: &mut impl WorkerEngine,
    asked: &Receiver<(Vec<u8>, StopFlag)>,
    current: &Mutex<StopFlag>,
    output: &Output,
) -> io::Result<()> {
    while let Ok((ask, stop)) = asked.recv() {
        *current.lock().unwrap_or_else(PoisonError::into_inner) = stop.clone();
        let context = WorkerContext {
            stop,
            output: output.clone(),
        };
        output.write(WorkerFrameKind::Answer, &engine.answer(&ask, &context))?;
    }
    Ok(())
}

/// Reads nothing but frames, so that an engine that hangs cannot keep the worker from noticing that it is alone.
fn read_all(
    mut input: impl Read,
    asks: &SyncSender<(Vec<u8>, StopFlag)>,
    current: &Mutex<StopFlag>,
) {
    let mut latest = StopFlag::default();
    loop {
        match read(&mut input) {
            Ok(Some((WorkerFrameKind::Request, ask))) => {
                latest = StopFlag::default();
                if asks.try_send((ask, latest.clone())).is_err() {
                    log_error("it was asked before it had answered");
                    process::exit(2);
                }
            }
            Ok(Some((WorkerFrameKind::Stop, _))) => latest.set(),
            Ok(None) => break,
            Ok(Some((kind, _))) => {
                log_error(&format!("a frame that only workers send: {kind:?}"));
                process::exit(2);
            }
            Err(error) => {
                log_error(&format!("what it was asked cannot be read: {error}"));
                process::exit(2);
            }
        }
    }
    latest.set();
    current.lock().unwrap_or_else(PoisonError::into_inner).set();
    thread::sleep(END_TIMEOUT);
    process::exit(0);
}

#[allow(clippy::print_stderr)] // whoever started it reads it there
fn log_error(text: &str) {
    eprintln!("{text}");
}
