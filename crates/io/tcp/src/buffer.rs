//! Memory that streams read into and write from.

use std::ops::{Deref, DerefMut};

const PAGE: usize = 4096;

/// Begins with a page. An allocator puts what is large 16 bytes behind the beginning of one, and from or to there some
/// processors copy at half their speed (AMD's Zen 3 and 4, whose `rep movsb` the kernel uses).
pub(crate) struct PageBuffer {
    memory: Vec<u8>,
    start: usize,
}

impl PageBuffer {
    pub(crate) fn new(size: usize) -> Self {
        let memory = vec![0; size + PAGE];
        // Nothing else is said where it cannot be told.
        let start = memory.as_ptr().align_offset(PAGE).min(PAGE);
        let mut buffer = Self { memory, start };
        buffer.memory.truncate(start + size);
        buffer
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_a_page() {
        for size in [1, 4096, 1 << 20] {
            let buffer = PageBuffer::new(size);
            assert_eq!(buffer.len(), size);
            assert_eq!(buffer.as_ptr().align_offset(PAGE), 0);
        }
    }
}
