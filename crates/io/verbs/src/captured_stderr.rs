//! libibverbs has no other way to say why it skips a device than standard error.

use std::{
    fs::File,
    io::{Read, Seek, Write},
    os::fd::OwnedFd,
    sync::Mutex,
};

use rustix::fs::MemfdFlags;

/// Standard error is the process's, so one capture at a time.
static CAPTURE_LOCK: Mutex<()> = Mutex::new(());

/// What is kept of it; a library that writes more says nothing new.
const MAX_BYTES: u64 = 64 * 1024;

/// Runs `call` and returns what the process wrote to standard error meanwhile, which does not reach it. If standard
/// error cannot be redirected, the text is empty.
pub(crate) fn capture<T>(call: impl FnOnce() -> T) -> (T, String) {
    let _one_at_a_time = CAPTURE_LOCK
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(redirected) = Redirected::begin() else {
        return (call(), String::new());
    };
    let result = call();
    (result, redirected.end())
}

/// Writes on to standard error what was captured and is of no use.
pub(crate) fn pass_on(text: &str) {
    // Where standard error cannot be written to, nobody reads it.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

struct Redirected {
    original: OwnedFd,
    captured: File,
}

impl Redirected {
    fn begin() -> Option<Self> {
        let captured = rustix::fs::memfd_create("stderr", MemfdFlags::CLOEXEC).ok()?;
        let original = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3).ok()?;
        rustix::stdio::dup2_stderr(&captured).ok()?;
        Some(Self {
            original,
            captured: captured.into(),
        })
    }

    fn end(mut self) -> String {
        self.restore();
        let mut bytes = Vec::new();
        let read = self
            .captured
            .rewind()
            .and_then(|()| (&self.captured).take(MAX_BYTES).read_to_end(&mut bytes));
        match read {
            Ok(_) => printable(&String::from_utf8_lossy(&bytes)),
            Err(_) => String::new(),
        }
    }

    fn restore(&mut self) {
        let _ = rustix::stdio::dup2_stderr(&self.original);
    }
}

impl Drop for Redirected {
    /// Also when the call panics.
    fn drop(&mut self) {
        self.restore();
    }
}

/// One line, without what a terminal would obey.
fn printable(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let joined = lines.collect::<Vec<_>>().join("; ");
    joined.chars().filter(|char| !char.is_control()).collect()
}
