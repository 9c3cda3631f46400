//! One change at a time on a node.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};

use crosstie_durable::{RealDisk, private_folder};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use crosstie_node::lock;

pub(super) const FILE_NAME: &str = "lock";

/// Held as long as the value lives; the kernel gives it up with the process.
#[derive(Debug)]
pub(super) struct ChangeLock(#[expect(dead_code, reason = "held for its lock")] File);

/// `None` where somebody else has it for longer than `wait`.
pub(super) fn acquire(state: &Path, wait: Duration) -> io::Result<Option<ChangeLock>> {
    private_folder(&RealDisk, state)?;
    let Some(mut file) = lock::take(&state.join(FILE_NAME), wait)? else {
        return Ok(None);
    };
    // For the guard, which must get past a holder that hangs.
    let _ = file.set_len(0);
    let _ = file.rewind();
    let _ = write!(file, "{}", std::process::id());
    Ok(Some(ChangeLock(file)))
}

/// Who had it last.
fn last_holder(state: &Path) -> Option<Pid> {
    let mut text = String::new();
    let file = File::open(state.join(FILE_NAME)).ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

/// Nobody has taken it since this process did.
pub(super) fn last_taken_by_us(state: &Path) -> bool {
    last_holder(state) == Some(getpid())
}

/// Ends whoever holds the lock: the guard's last means against one that hangs.
pub(super) fn kill_holder(state: &Path) {
    let Some(pid) = last_holder(state) else {
        return;
    };
    // The number may have been used again, by a program that has nothing to do with the lock.
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    if has_open(pid, &state.join(FILE_NAME)) {
        let _ = pidfd_send_signal(descriptor, Signal::KILL);
    }
}

fn has_open(pid: Pid, file: &Path) -> bool {
    // By name it may be another: a folder above it can be a link.
    let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    let Ok(wanted) = identity(file) else {
        return false;
    };
    let descriptors = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()));
    let mut descriptors = descriptors.into_iter().flatten().flatten();
    descriptors.any(|entry| identity(&entry.path()).is_ok_and(|found| found == wanted))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn whoever_took_it_last_is_known() {
        let state = tempfile::tempdir().unwrap();
        assert!(!last_taken_by_us(state.path()));
        let lock = acquire(state.path(), Duration::ZERO).unwrap();
        assert!(lock.is_some() && last_taken_by_us(state.path()));
        fs::write(state.path().join(FILE_NAME), "1").unwrap();
        assert!(!last_taken_by_us(state.path()));
    }

    /// Whatever it is called: a node that is this process serves itself as `crosstie apply`.
    #[test]
    fn whoever_holds_it_is_ended_and_nobody_else() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join(FILE_NAME);
        let script = r#"exec 9>>"$1"; flock 9; echo $$ > "$1"; echo held; read -r _"#;
        let mut holder = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0; 5];
        holder.stdout.take().unwrap().read_exact(&mut said).unwrap();
        assert!(acquire(state.path(), Duration::ZERO).unwrap().is_none());
        let held_by = fs::read_to_string(&file).unwrap();
        let mut bystander = Command::new("sleep").arg("30").spawn().unwrap();
        fs::write(&file, bystander.id().to_string()).unwrap();
        kill_holder(state.path());
        std::thread::sleep(Duration::from_millis(100));
        assert!(bystander.try_wait().unwrap().is_none());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
        fs::write(&file, held_by).unwrap();
        kill_holder(state.path());
        assert!(!holder.wait().unwrap().success());
        assert!(acquire(state.path(), Duration::ZERO).unwrap().is_some());
    }
}
