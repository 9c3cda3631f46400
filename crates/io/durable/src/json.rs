//! Files are read up to a size, so that no file takes all memory.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use serde::de::DeserializeOwned;

/// One that is cut off is `UnexpectedEof`, one that is no such JSON `InvalidData`.
pub fn read_json<T: DeserializeOwned>(path: &Path, largest: u64) -> io::Result<T> {
    let bytes = read_bounded(File::open(path)?, largest)?;
    Ok(serde_json::from_slice(&bytes)?)
}

pub fn read_bounded(file: impl Read, largest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(largest.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        let why = format!("it has more than {largest} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}
