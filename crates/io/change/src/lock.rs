//! One change at a time on a node.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    time::{Duration, Instant},
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
    let until = Instant::now() + wait;
    loop {
        // A disk that is read-only by now does not take the folder's mode, and what is there is rolled back all the same.
        if let Err(error) = private_folder(&RealDisk, state)
            && !state.is_dir()
        {
            return Err(error);
        }
        let left = until.saturating_duration_since(Instant::now());
        let file = match lock::take(&state.join(FILE_NAME), left) {
            // An uninstall that was waited for has removed the folder, too.
            Err(error) if error.kind() == io::ErrorKind::NotFound && Instant::now() < until => {
                continue;
            }
            taken => taken?,
        };
        return Ok(file.map(|file| {
            // For the guard, which must get past a holder that hangs. In the room of the one before, which a full disk has, too.
            let _ = file.write_all_at(holder_text(std::process::id()).as_bytes(), 0);
            ChangeLock(file)
        }));
    }
}

/// As long for every number.
fn holder_text(process: u32) -> String {
    format!("{process:>10}\n")
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

    /// On a full disk there is no room but that of the one before.
    #[test]
    fn whoever_takes_it_is_written_over_the_one_before() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join(FILE_NAME);
        fs::write(&file, holder_text(4_194_304)).unwrap();
        let blocks = File::open(&file).unwrap();
        let _lock = acquire(state.path(), Duration::ZERO).unwrap();
        assert!(last_taken_by_us(state.path()));
        let now = blocks.metadata().unwrap().len();
        assert_eq!(now, holder_text(1).len() as u64);
    }

    #[test]
    fn whoever_waited_for_an_uninstall_has_a_lock_of_its_own() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join("home/changes");
        let uninstall = acquire(&state, Duration::ZERO).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| acquire(&state, Duration::from_secs(10)).unwrap());
            std::thread::sleep(Duration::from_millis(200));
            fs::remove_dir_all(home.path().join("home")).unwrap();
            drop(uninstall);
            let _lock = waiter.join().unwrap().unwrap();
            let second = acquire(&state, Duration::ZERO).unwrap();
            assert!(second.is_none(), "two have the lock at once");
        });
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
