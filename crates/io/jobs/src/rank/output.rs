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
    time::Duration,
};

use crate::folder::LOG;

/// The journal has limits of its own.
const MAX_LOG: u64 = 256 << 20;
const FULL: &[u8] = b"\ncrosstie: the log is full, and goes on in the journal\n";
/// For what was printed last; a program that went into the background may hold the pipe for ever.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Output {
    pipe: Option<PipeWriter>,
    sink: Arc<Mutex<Sink>>,
    bytes: Arc<AtomicU64>,
    drained: mpsc::Receiver<()>,
}

struct Sink {
    log: File,
    bytes: Arc<AtomicU64>,
}

impl Output {
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let log = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(folder.join(LOG))?;
        let bytes = Arc::new(AtomicU64::new(log.metadata()?.len()));
        let sink = Arc::new(Mutex::new(Sink {
            log,
            bytes: Arc::clone(&bytes),
        }));
        let (reader, pipe) = io::pipe()?;
        let (sender, drained) = mpsc::channel();
        let copied = Arc::clone(&sink);
        thread::spawn(move || {
            copy(reader, &copied);
            let _ = sender.send(());
        });
        Ok(Self {
            pipe: Some(pipe),
            sink,
            bytes,
            drained,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn pipe(&self) -> io::Result<Stdio> {
        let pipe = self.pipe.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(pipe.try_clone()?.into())
    }

    pub(super) fn note(&self, text: &str) {
        write(&self.sink, format!("crosstie: {text}\n").as_bytes());
    }

    /// Until everything that was printed is kept.
    pub(super) fn drain(&mut self) {
        self.pipe = None;
        let _ = self.drained.recv_timeout(DRAIN_TIMEOUT);
    }
}

fn copy(mut pipe: PipeReader, sink: &Mutex<Sink>) {
    let mut buffer = [0; 16 << 10];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => write(sink, &buffer[..length]),
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
