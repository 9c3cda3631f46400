//! What libibverbs would have made: memory with the fields that callers look at, where they look for them.

use std::ptr::NonNull;

const OBJECT_WORDS: usize = 64;

/// Longer than any of the structures that it stands for, in any version.
type Object = [u64; OBJECT_WORDS];

pub(crate) fn make<T>() -> NonNull<T> {
    let object: Box<Object> = Box::new([0; OBJECT_WORDS]);
    NonNull::from(Box::leak(object)).cast()
}

/// # Safety
///
/// `object` was made by [`make`], and is not used any more.
pub(crate) unsafe fn free<T>(object: *mut T) {
    // SAFETY: as the caller promises.
    drop(unsafe { Box::from_raw(object.cast::<Object>()) });
}

/// # Safety
///
/// `object` was made by [`make`].
pub(crate) unsafe fn set<T, V>(object: NonNull<T>, offset: usize, value: V) {
    assert!(offset + size_of::<V>() <= size_of::<Object>());
    // SAFETY: as the caller promises; within the object, and aligned as C aligns it.
    unsafe { object.as_ptr().byte_add(offset).cast::<V>().write(value) };
}

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
}

/// Null, and the error's number where C looks for it.
pub(crate) fn null<T>(error: i32) -> *mut T {
    set_errno(error);
    std::ptr::null_mut()
}

pub(crate) fn set_errno(error: i32) {
    // SAFETY: the C library's, valid in every thread.
    unsafe { __errno_location().write(error) };
}

pub(crate) const EAGAIN: i32 = 11;
pub(crate) const ENOMEM: i32 = 12;
pub(crate) const EBUSY: i32 = 16;
pub(crate) const EINVAL: i32 = 22;
pub(crate) const ENODATA: i32 = 61;
