//! What engines print: into the journal, and into a log that a controller can read without root.

use std::{
    fs::{File, OpenOptions},
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use crate::folder::{ANSWER, LOG};

/// The journal has limits of its own.
const MAX_LOG: u64 = 256 << 20;
const MAX_ANSWER: u64 = 1 << 20;
const FULL: &[u8] = b"\ncrosstie: the log is full, and goes on in the journal\n";
/// For what was printed last; a program that went into the background may hold the pipe for ever.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct EngineOutput {
    pipes: Option<Pipes>,
    sink: Arc<Mutex<Sink>>,
    bytes: Arc<AtomicU64>,
    drained: mpsc::Receiver<()>,
}

struct Pipes {
    stdout: PipeWriter,
    stderr: PipeWriter,
}

struct Sink {
    log: File,
    bytes: Arc<AtomicU64>,
}

impl EngineOutput {
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let log = open(&folder.join(LOG))?;
        let bytes = Arc::new(AtomicU64::new(log.metadata()?.len()));
        let sink = Arc::new(Mutex::new(Sink {
            log,
            bytes: Arc::clone(&bytes),
        }));
        let answer = Answer::new(open(&folder.join(ANSWER))?)?;
        let (sender, drained) = mpsc::channel();
        let copied = |answer: Option<Answer>| {
            let (reader, pipe) = io::pipe()?;
            let (sender, sink) = (sender.clone(), Arc::clone(&sink));
            thread::spawn(move || {
                copy(reader, &sink, answer);
                let _ = sender.send(());
            });
            Ok::<PipeWriter, io::Error>(pipe)
        };
        let pipes = Pipes {
            stdout: copied(Some(answer))?,
            stderr: copied(None)?,
        };
        Ok(Self {
            pipes: Some(pipes),
            sink,
            bytes,
            drained,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn stdout(&self) -> io::Result<Stdio> {
        self.pipe(|pipes| &pipes.stdout)
    }

    pub(super) fn stderr(&self) -> io::Result<Stdio> {
        self.pipe(|pipes| &pipes.stderr)
    }

    fn pipe(&self, which: fn(&Pipes) -> &PipeWriter) -> io::Result<Stdio> {
        let pipes = self.pipes.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(which(pipes).try_clone()?.into())
    }

    pub(super) fn note(&self, text: &str) {
        write(&self.sink, format!("crosstie: {text}\n").as_bytes());
    }

    /// Until everything that was printed is kept.
    pub(super) fn drain(&mut self) {
        self.pipes = None;
        let until = Instant::now() + DRAIN_TIMEOUT;
        for _ in 0..2 {
            let left = until.saturating_duration_since(Instant::now());
            let _ = self.drained.recv_timeout(left);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(path)
}

/// Standard output by itself: an engine's answer, where what it says about itself goes to its standard error.
struct Answer {
    file: File,
    room: u64,
}

impl Answer {
    fn new(file: File) -> io::Result<Self> {
        let room = MAX_ANSWER.saturating_sub(file.metadata()?.len());
        Ok(Self { file, room })
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        self.room -= kept.len() as u64;
        let _ = self.file.write_all(kept);
    }
}

fn copy(mut pipe: PipeReader, sink: &Mutex<Sink>, mut answer: Option<Answer>) {
    let mut buffer = [0; 16 << 10];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                let bytes = &buffer[..length];
                write(sink, bytes);
                if let Some(answer) = &mut answer {
                    answer.keep(bytes);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// An engine must not fail because its words cannot be kept: the disk may be full.
fn write(sink: &Mutex<Sink>, bytes: &[u8]) {
    let mut journal = io::stdout();
    let _ = journal.write_all(bytes).and_then(|()| journal.flush());
    let Ok(mut sink) = sink.lock() else {
        return;
    };
    let before = sink.bytes.load(Ordering::Relaxed);
    if before >= MAX_LOG {
        return;
    }
    let after = before + bytes.len() as u64;
    let end = if after >= MAX_LOG { FULL } else { b"" };
    let _ = sink
        .log
        .write_all(bytes)
        .and_then(|()| sink.log.write_all(end));
    sink.bytes.store(after, Ordering::Relaxed);
}
