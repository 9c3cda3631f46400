//! How much of a capture is read before it is given up.
//!
//! A capture of a large machine has some 20,000 entries and 10 MiB of text, most of it dpkg's status. Each limit leaves
//! room above that and keeps a hostile capture below a second of work and 100 MiB of memory.

use std::{
    io::{self, BufRead, Read},
    sync::atomic::{AtomicU64, Ordering},
};

/// Entries of any kind, counted before they are looked at.
pub const MAX_ENTRIES: u32 = 200_000;

/// Bytes kept of one capture: contents, link targets and paths.
pub const MAX_STORED: u64 = 64 << 20;

/// Bytes kept of all captures loaded by one call: a thousand large captures still fit.
pub const MAX_TOGETHER: u64 = 2 << 30;

/// Bytes of an archive once decompressed, with headers and skipped members: this is what stops a bomb.
pub const MAX_STREAM: u64 = 256 << 20;

/// Bytes of an archive as it lies on disk. Incompressible data hardly grows, so nothing within [`MAX_STREAM`] is
/// larger; it stops an endless run of empty deflate blocks.
pub const MAX_PACKED: u64 = MAX_STREAM + (1 << 20);

/// Bytes of `meta.toml`: a TOML tree takes up to fifty times the memory of its text.
pub const MAX_META: u64 = 1 << 20;

/// Bytes of one long-name or pax record: a path, a link target and some attributes.
pub const MAX_RECORD: u64 = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CaptureLimit {
    #[error("more than {MAX_ENTRIES} entries")]
    Entries,
    #[error("more than {} MiB of content", MAX_STORED >> 20)]
    Stored,
    #[error("more than {} MiB of content in all captures together", MAX_TOGETHER >> 20)]
    Together,
    #[error("more than {} MiB when decompressed", MAX_STREAM >> 20)]
    Stream,
    #[error("more than {} MiB on disk", MAX_PACKED >> 20)]
    Packed,
    #[error("a meta.toml of more than {} MiB", MAX_META >> 20)]
    Meta,
}

/// What one capture has used up.
pub(super) struct CaptureBudget<'a> {
    entries: u32,
    stored: u64,
    together: &'a AtomicU64,
}

impl<'a> CaptureBudget<'a> {
    pub(super) fn new(together: &'a AtomicU64) -> Self {
        Self {
            entries: 0,
            stored: 0,
            together,
        }
    }

    pub(super) fn entry(&mut self) -> Result<(), CaptureLimit> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(CaptureLimit::Entries);
        }
        Ok(())
    }

    pub(super) fn store(&mut self, bytes: usize) -> Result<(), CaptureLimit> {
        let bytes = bytes as u64;
        self.stored += bytes;
        let together = self.together.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if self.stored > MAX_STORED {
            return Err(CaptureLimit::Stored);
        }
        if together > MAX_TOGETHER {
            return Err(CaptureLimit::Together);
        }
        Ok(())
    }

    /// Leaves what was stored on the common account.
    pub(super) fn keep(&mut self) {
        self.stored = 0;
    }
}

/// A capture that failed gives back what it had taken from the others.
impl Drop for CaptureBudget<'_> {
    fn drop(&mut self) {
        self.together.fetch_sub(self.stored, Ordering::Relaxed);
    }
}

/// A reader that fails with its [`CaptureLimit`] when there is more to read than allowed.
pub(super) struct LimitedReader<R> {
    inner: R,
    left: u64,
    limit: CaptureLimit,
}

impl<R> LimitedReader<R> {
    pub(super) fn new(inner: R, bytes: u64, limit: CaptureLimit) -> Self {
        Self {
            inner,
            left: bytes,
            limit,
        }
    }

    fn take(&mut self, bytes: usize) -> io::Result<()> {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.ok_or_else(|| io::Error::other(self.limit))?;
        Ok(())
    }
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.take(count)?;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for LimitedReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let limit = self.limit;
        let left = self.left;
        let buffer = self.inner.fill_buf()?;
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other(limit));
        }
        let shown = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        Ok(&buffer[..shown])
    }

    fn consume(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes as u64);
        self.inner.consume(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_fails_past_its_limit_and_not_at_it() {
        let read = |bytes: &[u8]| {
            let mut all = Vec::new();
            LimitedReader::new(bytes, 4, CaptureLimit::Stream)
                .read_to_end(&mut all)
                .map(|_| all)
        };
        assert_eq!(read(b"1234").unwrap(), b"1234");
        let error = read(b"12345").unwrap_err();
        assert_eq!(
            error.downcast::<CaptureLimit>().unwrap(),
            CaptureLimit::Stream
        );

        let mut buffered = LimitedReader::new(&b"12345"[..], 4, CaptureLimit::Packed);
        assert_eq!(buffered.fill_buf().unwrap(), b"1234");
        buffered.consume(4);
        assert!(buffered.fill_buf().is_err());
    }

    #[test]
    fn captures_share_what_they_keep() {
        let together = AtomicU64::new(MAX_TOGETHER - 10);
        let mut first = CaptureBudget::new(&together);
        assert_eq!(first.store(8), Ok(()));
        assert_eq!(
            CaptureBudget::new(&together).store(8),
            Err(CaptureLimit::Together)
        );
        drop(first);
        assert_eq!(CaptureBudget::new(&together).store(8), Ok(()));
        assert_eq!(
            CaptureBudget::new(&AtomicU64::new(0)).store((64 << 20) + 1),
            Err(CaptureLimit::Stored)
        );
    }
}
