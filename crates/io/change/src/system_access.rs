//! What a change needs of the machine. The tests have one of their own, which can die at any edge.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_durable::FileOperations;
use crosstie_model::{Facts, PlanStep, change::TryCommandResult, plan::ConfigReload};
use crosstie_node::network_state::NetworkState;

use super::error::{
    GuardRunError, GuardSetupError, ManagerError, RollbackObstacle, StepError, TrialError,
};

pub(super) trait SystemAccess: FileOperations {
    /// From now on this transaction is the session's. To be told before anything of it reaches the disk.
    fn own(&self, transaction: &str);

    /// Where a file of the node is.
    fn path(&self, path: &str) -> PathBuf;

    /// Another one after every boot.
    fn boot(&self) -> String;

    /// Since the boot.
    fn uptime(&self) -> Duration;

    /// `2026-11-15T10:00:00Z`
    fn now(&self) -> String;

    /// Everything, read again.
    fn facts(&self) -> Facts;

    /// Puts this program at `path`, for the day when it is the only one that can roll back.
    fn store_program(&self, path: &Path) -> io::Result<()>;

    /// From now on the node rolls back by itself: after `guard`, and with a boot.
    fn arm(
        &self,
        transaction: &str,
        program: &Path,
        guard: Duration,
    ) -> Result<(), GuardSetupError>;

    /// Whether a guard counts down now; `None` where systemd does not say.
    fn is_guard_waiting(&self) -> Option<bool>;

    /// The transaction that a guard is there for, whether it counts down or not.
    fn guarded(&self) -> Option<String>;

    /// The guard goes, and nothing of it is left.
    fn disarm(&self) -> Result<(), GuardSetupError>;

    /// Why nobody waits for this change any more, if nobody does.
    fn abandoned(&self) -> Option<&'static str> {
        None
    }

    /// Starts the guard's work now, and waits for it.
    /// Returns what could not be restored.
    fn rollback_now(&self, transaction: &str) -> Result<Vec<String>, GuardRunError>;

    /// Runtime values, in the direction `to`. Files are not its affair.
    fn set(&self, step: &PlanStep) -> Result<(), StepError>;

    /// Those who read configuration read it again. Each is asked; whatever failed comes back.
    fn reread(&self, then: &[ConfigReload]) -> Vec<ManagerError>;

    /// Whatever renders other files from ours at boot does so again. Nothing else runs yet.
    fn render_at_boot(&self) -> Vec<ManagerError>;

    /// Runtime state of interfaces, to be restored.
    fn before(&self, interfaces: &[String]) -> NetworkState;

    /// Runtime state of the whole network, and what of it could not be restored.
    fn full_runtime_snapshot(&self) -> (NetworkState, Vec<String>);

    /// Runtime state now of what an earlier one covers, to be compared with it.
    fn snapshot_like(&self, earlier: &NetworkState) -> NetworkState;

    /// A person's own program; its status, and what it printed.
    fn run_trial(
        &self,
        transaction: &str,
        command: &[String],
        deadline: Duration,
    ) -> Result<TryCommandResult, TrialError>;

    /// Ends it where it runs on although the process that ran it was killed.
    fn end_trial_command(&self, transaction: &str) -> io::Result<()>;

    /// Every manager that there is reads its files again.
    fn reread_all(&self) -> Vec<ManagerError>;

    /// Restores it, and goes on past what cannot be, which is returned. What is so already is left alone.
    fn restore_runtime(&self, before: &NetworkState) -> Vec<RollbackObstacle>;

    /// Between two tries of something that a moment may mend.
    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}
