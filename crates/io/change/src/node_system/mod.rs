//! The machine itself: systemd, the network managers, the kernel.

mod command_record;
mod guard;
#[cfg(any(test, feature = "rehearsal"))]
mod rehearsal;
mod trial;
mod wait;

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crosstie_durable::{self as durable, AtomicWrite, FileOperations};
use crosstie_model::{Facts, PlanStep, change::TryCommandResult, plan::ConfigReload};
use rustix::time::{ClockId, clock_gettime};

use command_record::CommandRecord;

use super::{
    error::{
        GuardRunError, GuardSetupError, ManagerError, RollbackObstacle, StepError, TrialError,
    },
    program::run,
    renderer,
    session::{INTERRUPTED_REASON, SessionTransaction},
    step::{self, NodeRuntime},
    system_access::SystemAccess,
};
use crosstie_node::{
    boot_id,
    child_processes::is_stopped,
    network_state::{self, NetworkState, SnapshotScope},
    with_causes,
};

pub(super) use guard::{start_rollback_unit, start_without_waiting as start_guard};
pub(super) use wait::wait_until;

/// The running program, and where the agents of root are, which nobody writes to once they have their names.
const OWN_PROGRAM: &str = "/proc/self/exe";
const INSTALLED_FOLDER: &str = "/var/lib/crosstie/bin";
const MAX_RESTORE_CHECKS: u32 = 3;
const POLL_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct NodeSystem {
    pub(super) own: SessionTransaction,
}

impl SystemAccess for NodeSystem {
    fn own(&self, transaction: &str) {
        self.own.set(transaction);
    }

    fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(path)
    }

    fn boot(&self) -> String {
        boot_id()
    }

    fn uptime(&self) -> Duration {
        uptime()
    }

    fn now(&self) -> String {
        crosstie_node::now()
    }

    fn facts(&self) -> Facts {
        crosstie_facts::facts(&crosstie_node::collect())
    }

    fn store_program(&self, path: &Path) -> io::Result<()> {
        store_program(self, Path::new(OWN_PROGRAM), path)
    }

    fn arm(
        &self,
        transaction: &str,
        program: &Path,
        guard: Duration,
    ) -> Result<(), GuardSetupError> {
        guard::arm(self, transaction, program, guard)
    }

    fn is_guard_waiting(&self) -> Option<bool> {
        guard::is_waiting()
    }

    fn guarded(&self) -> Option<String> {
        guard::transaction()
    }

    fn disarm(&self) -> Result<(), GuardSetupError> {
        guard::disarm(self)
    }

    fn abandoned(&self) -> Option<&'static str> {
        if self.own.is_interrupted() {
            return Some(INTERRUPTED_REASON);
        }
        is_stopped().then_some("its controller stopped waiting for it")
    }

    fn rollback_now(&self, transaction: &str) -> Result<Vec<String>, GuardRunError> {
        guard::rollback_now(self, transaction)
    }

    fn set(&self, step: &PlanStep) -> Result<(), StepError> {
        step::apply(step, &mut NodeRuntime::machine())
    }

    fn reread(&self, then: &[ConfigReload]) -> Vec<ManagerError> {
        let mut failed = Vec::new();
        if then.contains(&ConfigReload::Units) {
            let read = run("systemctl", &["daemon-reload"]);
            failed.extend(read.err().map(ManagerError::from));
        }
        failed.extend(renderer::reconfigure(then));
        failed
    }

    fn render_at_boot(&self) -> Vec<ManagerError> {
        renderer::render_at_boot()
    }

    fn before(&self, interfaces: &[String]) -> NetworkState {
        let (network, obstacles) =
            network_state::snapshot(&SnapshotScope::Interfaces(interfaces.to_vec()));
        for obstacle in obstacles {
            tracing::warn!("a rollback leaves it is then: {}", with_causes(&obstacle));
        }
        network
    }

    fn full_runtime_snapshot(&self) -> (NetworkState, Vec<String>) {
        let (network, obstacles) = network_state::snapshot(&SnapshotScope::Everything);
        let obstacles = obstacles.iter().map(|obstacle| with_causes(obstacle));
        (network, obstacles.collect())
    }

    fn snapshot_like(&self, earlier: &NetworkState) -> NetworkState {
        network_state::snapshot(earlier.scope()).0
    }

    fn run_trial(
        &self,
        transaction: &str,
        command: &[String],
        deadline: Duration,
    ) -> Result<TryCommandResult, TrialError> {
        trial::run(&CommandRecord::of(self, transaction), command, deadline)
    }

    fn end_trial_command(&self, transaction: &str) -> io::Result<()> {
        CommandRecord::of(self, transaction).end_command()
    }

    fn reread_all(&self) -> Vec<ManagerError> {
        renderer::reread_all()
    }

    fn restore_runtime(&self, before: &NetworkState) -> Vec<RollbackObstacle> {
        restore_network(before)
    }
}

impl FileOperations for NodeSystem {
    fn edge(&self, name: &'static str) {
        tracing::trace!("edge: {name}");
        #[cfg(any(test, feature = "rehearsal"))]
        rehearsal::reach_cut_point(name);
    }
}

/// `CLOCK_BOOTTIME`: a machine that sleeps counts on.
fn uptime() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// A network manager moves at the same time, and may undo what was restored, or delete what was seen a moment ago: what has
/// failed has failed only if it is still to do.
fn restore_network(before: &NetworkState) -> Vec<RollbackObstacle> {
    let mut obstacles = network_state::restore(before);
    for _ in 1..MAX_RESTORE_CHECKS {
        if obstacles
            .iter()
            .all(network_state::NetworkRestoreObstacle::is_left)
        {
            break;
        }
        thread::sleep(POLL_INTERVAL);
        obstacles = network_state::restore(before);
    }
    obstacles
        .into_iter()
        .map(RollbackObstacle::Network)
        .collect()
}

/// The running program, also when its file has been replaced since. A later boot has only this.
fn store_program(disk: &dyn FileOperations, running: &Path, path: &Path) -> io::Result<()> {
    let own = fs::read_link(running)?;
    // It may have come over the network a moment ago, so it is synced as a copy is.
    if own.starts_with(INSTALLED_FOLDER) && durable::hard_link(disk, &own, path, |_| Ok(())).is_ok()
    {
        return Ok(());
    }
    let mut program = File::open(running)?;
    AtomicWrite::new(path, 0o700).write_with(disk, |copy| io::copy(&mut program, copy).map(drop))
}

/// Whether the file is a copy of the running program.
pub(super) fn is_own_program(path: &Path) -> bool {
    is_same_content(Path::new(OWN_PROGRAM), path).unwrap_or(false)
}

fn is_same_content(first: &Path, second: &Path) -> io::Result<bool> {
    let (first, second) = (File::open(first)?, File::open(second)?);
    if first.metadata()?.len() != second.metadata()?.len() {
        return Ok(false);
    }
    let (mut first, mut second) = (BufReader::new(first), BufReader::new(second));
    loop {
        let (one, other) = (first.fill_buf()?, second.fill_buf()?);
        let length = one.len().min(other.len());
        if length == 0 {
            return Ok(one.len() == other.len());
        }
        if one[..length] != other[..length] {
            return Ok(false);
        }
        first.consume(length);
        second.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use crosstie_durable::{RealDisk, testing::at_every_cut};
    use tempfile::TempDir;

    use super::*;

    /// The guard starts what has the name: half of it would be no program.
    #[test]
    fn the_program_is_stored_whole_or_not_at_all() {
        let prepare = || {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("own"), "program").unwrap();
            symlink(folder.path().join("own"), folder.path().join("exe")).unwrap();
            folder
        };
        let stored = |folder: &TempDir| folder.path().join("crosstie");
        at_every_cut(
            prepare,
            |disk, folder| store_program(disk, &folder.path().join("exe"), &stored(folder)),
            |folder, place| {
                let found = fs::read_to_string(stored(folder)).ok();
                assert!(
                    found.as_ref().is_none_or(|found| found == "program"),
                    "{place}"
                );
                assert!(found.is_some() || !place.is_done, "{place}");
                // What a cut has left is not in the way of the next try.
                store_program(&RealDisk, &folder.path().join("exe"), &stored(folder)).unwrap();
                let mode = fs::metadata(stored(folder)).unwrap().permissions().mode();
                assert_eq!(mode & 0o7777, 0o700, "{place}");
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "{place}");
            },
        )
        .unwrap();
    }

    #[test]
    fn the_running_program_is_the_one_that_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crosstie");
        store_program(&RealDisk, Path::new(OWN_PROGRAM), &path).unwrap();
        let [own, copy] =
            [Path::new(OWN_PROGRAM), &path].map(|path| fs::metadata(path).unwrap().len());
        assert_eq!(own, copy);
    }
}
