//! Random numbers of the kernel's.

use rustix::{
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};

#[derive(Debug, thiserror::Error)]
#[error("no random numbers")]
pub struct NoRandomNumbers(#[source] Option<Errno>);

pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], NoRandomNumbers> {
    let mut bytes = [0; LENGTH];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(given) if given == LENGTH => Ok(bytes),
        Ok(_) => Err(NoRandomNumbers(None)),
        Err(error) => Err(NoRandomNumbers(Some(error))),
    }
}
