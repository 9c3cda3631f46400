//! Unix sockets at paths of any length.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Connects through the directory's descriptor: `sun_path` holds 108 bytes, a lab's directory may be longer.
pub(crate) fn connect(path: &Path) -> std::io::Result<UnixStream> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return UnixStream::connect(path);
    };
    let directory = File::open(directory)?;
    let short = Path::new("/proc/self/fd")
        .join(directory.as_raw_fd().to_string())
        .join(name);
    UnixStream::connect(short)
}
