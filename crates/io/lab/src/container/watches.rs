//! inotify instances, which the kernel counts by user: all root's containers share one allowance, and the usual one is for a
//! dozen nodes. Without one left, a node's udev does not start, and nothing else says so.

use std::path::Path;

use crate::ReportProgress;
use crate::error::LabError;

const LIMIT: &str = "/proc/sys/fs/inotify/max_user_instances";
const MIN_INOTIFY_INSTANCES: u32 = 2_048;

/// Raises the host's limit where it is too low. It stays so until the host's next boot.
pub(crate) fn allow(say: ReportProgress<'_>) -> Result<(), LabError> {
    let path = Path::new(LIMIT);
    let text = std::fs::read_to_string(path).map_err(LabError::disk("read", path))?;
    let now: u32 = text.trim().parse().unwrap_or(0);
    if now >= MIN_INOTIFY_INSTANCES {
        return Ok(());
    }
    say(&format!(
        "raising this machine's fs.inotify.max_user_instances from {now} to {MIN_INOTIFY_INSTANCES} until its next boot"
    ));
    std::fs::write(path, MIN_INOTIFY_INSTANCES.to_string()).map_err(LabError::disk("write", path))
}
