//! Which boot of the machine this is.

use std::fs;

/// Another one after every boot; empty where the kernel does not say.
pub fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}
