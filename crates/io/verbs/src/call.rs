//! How libibverbs reports failure, and reading what it has made.

use std::{io, ptr::NonNull};

use crate::error::VerbsCallError;

/// The result of a function that returns 0, or an error's number. Some drivers return -1 and set `errno`, some the
/// negated number.
pub(crate) fn check(code: i32) -> io::Result<()> {
    match code {
        0 => Ok(()),
        -1 => Err(io::Error::last_os_error()),
        code => Err(io::Error::from_raw_os_error(code.saturating_abs())),
    }
}

/// The result of a function that returns a pointer, or null and sets `errno`.
pub(crate) fn pointer<T>(result: *mut T) -> io::Result<NonNull<T>> {
    NonNull::new(result).ok_or_else(io::Error::last_os_error)
}

/// Reads a field of something that the library has made.
///
/// # Safety
///
/// `base` points to an object that has a `V` at `offset`, and no thread writes it meanwhile.
pub(crate) unsafe fn field<T, V: Copy>(base: NonNull<T>, offset: usize) -> V {
    // SAFETY: as the caller promises.
    unsafe { base.as_ptr().byte_add(offset).cast::<V>().read() }
}

/// What can be done about a failure to destroy: nothing, but it should be known.
pub(crate) fn warn_kept(device: &str, call: &'static str, code: i32) {
    if let Err(source) = check(code) {
        tracing::warn!(device, call, %source, "could not be destroyed; its memory is kept");
    }
}

pub(crate) fn failed(device: &str, call: &'static str) -> impl FnOnce(io::Error) -> VerbsCallError {
    move |source| VerbsCallError {
        device: device.to_owned(),
        call,
        source,
    }
}
