//! Memory that a device may write to at any moment.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    ptr::NonNull,
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
};

/// The largest page of the systems that we run on: no page is then shared with other memory, and huge pages of the
/// kernel's choice fit.
const ALIGNMENT: usize = 64 * 1024;
const WORD_BYTES: usize = size_of::<u64>();

/// Zeroed memory on pages of its own. There is never a reference into it, only atomic loads and stores: a device
/// or a peer may write to it meanwhile.
#[derive(Debug)]
pub(crate) struct PageAlignedBuffer {
    start: NonNull<u8>,
    length: usize,
    layout: Layout,
}

impl PageAlignedBuffer {
    /// `None` where there is no memory for it, or its length is 0.
    pub(crate) fn zeroed(length: usize) -> Option<Self> {
        if length == 0 {
            return None;
        }
        let layout = Layout::from_size_align(length, ALIGNMENT)
            .ok()?
            .pad_to_align();
        // SAFETY: the layout's size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self {
            start,
            length,
            layout,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn address(&self) -> NonNull<u8> {
        self.start
    }

    /// Whether so many bytes at the offset are within it.
    pub(crate) fn contains(&self, offset: usize, length: usize) -> bool {
        offset
            .checked_add(length)
            .is_some_and(|end| end <= self.length)
    }

    /// The offset must be within the buffer.
    pub(crate) fn load(&self, offset: usize) -> u8 {
        self.byte(offset).load(Ordering::Acquire)
    }

    /// The piece must be within the buffer.
    pub(crate) fn copy_out(&self, offset: usize, to: &mut [u8]) {
        assert!(self.contains(offset, to.len()));
        let head = Self::bytes_to_word(offset).min(to.len());
        let (first, rest) = to.split_at_mut(head);
        let (middle, last) = rest.split_at_mut(rest.len() / WORD_BYTES * WORD_BYTES);
        self.load_bytes(offset, first);
        for (index, piece) in middle.chunks_exact_mut(WORD_BYTES).enumerate() {
            let word = self
                .word(offset + head + index * WORD_BYTES)
                .load(Ordering::Relaxed);
            piece.copy_from_slice(&word.to_ne_bytes());
        }
        self.load_bytes(offset + head + middle.len(), last);
    }

    /// The piece must be within the buffer.
    pub(crate) fn copy_in(&self, offset: usize, from: &[u8]) {
        assert!(self.contains(offset, from.len()));
        let head = Self::bytes_to_word(offset).min(from.len());
        let (first, rest) = from.split_at(head);
        let (middle, last) = rest.split_at(rest.len() / WORD_BYTES * WORD_BYTES);
        self.store_bytes(offset, first);
        for (index, piece) in middle.chunks_exact(WORD_BYTES).enumerate() {
            let word = u64::from_ne_bytes(std::array::from_fn(|byte| piece[byte]));
            self.word(offset + head + index * WORD_BYTES)
                .store(word, Ordering::Relaxed);
        }
        self.store_bytes(offset + head + middle.len(), last);
    }

    fn load_bytes(&self, offset: usize, to: &mut [u8]) {
        for (index, byte) in to.iter_mut().enumerate() {
            *byte = self.byte(offset + index).load(Ordering::Relaxed);
        }
    }

    fn store_bytes(&self, offset: usize, from: &[u8]) {
        for (index, byte) in from.iter().enumerate() {
            self.byte(offset + index).store(*byte, Ordering::Relaxed);
        }
    }

    /// How many bytes lie before the next aligned word.
    fn bytes_to_word(offset: usize) -> usize {
        // The buffer's start is aligned.
        offset.next_multiple_of(WORD_BYTES) - offset
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        assert!(offset < self.length);
        // SAFETY: within the buffer, which lives as long as `self` and is only accessed atomically by this program.
        unsafe { AtomicU8::from_ptr(self.start.add(offset).as_ptr()) }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(WORD_BYTES) && self.contains(offset, WORD_BYTES));
        // SAFETY: as above, and aligned, since the buffer's start and the offset are.
        unsafe { AtomicU64::from_ptr(self.start.add(offset).as_ptr().cast()) }
    }
}

impl Drop for PageAlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

// SAFETY: it owns its memory, and accesses are atomic.
unsafe impl Send for PageAlignedBuffer {}
// SAFETY: likewise.
unsafe impl Sync for PageAlignedBuffer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_piece_comes_out_as_it_went_in() {
        let buffer = PageAlignedBuffer::zeroed(100).unwrap();
        for offset in 0..20 {
            for length in 0..40 {
                let sent: Vec<u8> = (1..).take(length).collect();
                buffer.copy_in(offset, &vec![0; length + 8]);
                buffer.copy_in(offset, &sent);
                let mut got = vec![9; length];
                buffer.copy_out(offset, &mut got);
                assert_eq!(got, sent, "{length} at {offset}");
                assert_eq!(buffer.load(offset + length), 0, "{length} at {offset}");
            }
        }
    }

    #[test]
    fn its_bounds_are_exact() {
        let buffer = PageAlignedBuffer::zeroed(100).unwrap();
        assert!(buffer.contains(0, 100) && buffer.contains(100, 0));
        assert!(!buffer.contains(1, 100) && !buffer.contains(usize::MAX, 2));
        assert!(PageAlignedBuffer::zeroed(0).is_none());
        assert!(PageAlignedBuffer::zeroed(usize::MAX).is_none());
    }
}
