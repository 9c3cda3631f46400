//! Memory for structures that point to each other.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    ptr::NonNull,
};

/// A driver reads the first half of a work request; it should not lie across two lines.
const CACHE_LINE: usize = 64;

/// Elements that are only reached by pointer, so that pointers between them stay valid; a `Vec` or `Box` promises less.
#[derive(Debug)]
pub(super) struct PinnedArray<T: Copy> {
    start: NonNull<T>,
    count: usize,
}

impl<T: Copy> PinnedArray<T> {
    /// `None` for none.
    pub(super) fn filled(value: T, count: usize) -> Option<Self> {
        const { assert!(size_of::<T>() > 0) };
        let layout = Self::layout(count)?;
        // SAFETY: the layout's size is not 0.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }.cast::<T>()) else {
            handle_alloc_error(layout)
        };
        for index in 0..count {
            // SAFETY: within what was just allocated.
            unsafe { start.add(index).write(value) };
        }
        Some(Self { start, count })
    }

    fn layout(count: usize) -> Option<Layout> {
        let layout = Layout::array::<T>(count).ok()?.align_to(CACHE_LINE).ok()?;
        (layout.size() > 0).then_some(layout)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Element `index`, which must be one of the array's.
    pub(super) fn at(&self, index: usize) -> *mut T {
        assert!(index < self.count);
        // SAFETY: within the array.
        unsafe { self.start.add(index) }.as_ptr()
    }

    /// Every element in turn.
    #[inline]
    pub(super) fn pointers(&self) -> impl Iterator<Item = *mut T> {
        // SAFETY: within the array.
        (0..self.count).map(|index| unsafe { self.start.add(index) }.as_ptr())
    }

    #[inline]
    pub(super) fn start(&self) -> *mut T {
        self.start.as_ptr()
    }

    /// Which element a pointer that the library gave back is; their number, if none.
    pub(super) fn index_of(&self, element: *mut T) -> usize {
        self.pointers()
            .position(|known| std::ptr::eq(known, element))
            .unwrap_or(self.count)
    }
}

impl<T: Copy> Drop for PinnedArray<T> {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.count) {
            // SAFETY: allocated with this layout, and freed once.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

// SAFETY: it owns its elements.
unsafe impl<T: Copy> Send for PinnedArray<T> {}
