//! Labs for tests: leased one at a time, reset between tests, kept running for the next one where the run asks for it.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::error::LabError;
use crate::lab::{Lab, LabKind, LabNodeState, LabProgram, LabRequest, down, names, up};
use crate::lock::LabLock;
use crate::paths::LabPaths;
use crate::profile::LabProfile;
use crate::snapshots::READY;

/// Set by a run of many tests, which ends the labs itself at last: `crosstie lab down --all`.
pub const KEEP_VARIABLE: &str = "CROSSTIE_LAB_KEEP";
/// Longest wait for other tests: each of them has deadlines of its own.
const LEASE_TIMEOUT: Duration = Duration::from_secs(1800);
const SEED: u64 = 1;

/// A lab of one's own until dropped.
#[derive(Debug)]
pub struct LabLease {
    lab: Lab,
    paths: LabPaths,
    keep: bool,
    lock: Option<LabLock>,
}

/// A lab of this profile with every node as `up` left it and no fault on any cable.
pub fn lease(profile: &str, hub: LabProgram) -> Result<LabLease, LabError> {
    lease_at(profile, READY, hub)
}

/// The same, with every node as it was kept under this name (`Lab::save_all`) in an earlier lease of this run, if it was.
pub fn lease_at(profile: &str, snapshot: &str, hub: LabProgram) -> Result<LabLease, LabError> {
    let profile = LabProfile::find(profile)?;
    let paths = LabPaths::of_tests();
    // One lab at a time: a small machine holds no second one beside it.
    let lock = LabLock::take(&paths.labs.join("lease.lock"), LEASE_TIMEOUT)?;
    let name = profile.name.clone();
    for other in names(&paths).iter().filter(|other| **other != name) {
        down(&paths, other, &tell)?;
    }
    let lab = match Lab::open(&paths, &name) {
        Ok(lab) if is_whole(&lab) && lab.reset_all_to(snapshot).is_ok() => lab,
        _ => {
            down(&paths, &name, &tell)?;
            let request = LabRequest {
                name,
                profile,
                kind: LabKind::Machines,
                seed: SEED,
                ssh_port: None,
                fresh: false,
                hub,
            };
            up(&paths, &request, &tell)?
        }
    };
    Ok(LabLease {
        lab,
        paths,
        keep: std::env::var_os(KEEP_VARIABLE).is_some(),
        lock: Some(lock),
    })
}

/// Containers of this profile, made for the caller: quick enough that no two tests need to share them, nor wait for each
/// other.
pub fn lease_containers(profile: &str, hub: LabProgram) -> Result<LabLease, LabError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let profile = LabProfile::find(profile)?;
    let paths = LabPaths::of_tests();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let request = LabRequest {
        name: format!("containers-{}-{number}", std::process::id()),
        profile,
        kind: LabKind::Containers,
        seed: SEED,
        ssh_port: None,
        fresh: false,
        hub,
    };
    let lab = up(&paths, &request, &tell)?;
    Ok(LabLease {
        lab,
        paths,
        keep: false,
        lock: None,
    })
}

/// A lab that lost its hub or its way in is made anew.
fn is_whole(lab: &Lab) -> bool {
    lab.has_cables()
        && lab
            .status()
            .nodes
            .iter()
            .all(|node| node.state != LabNodeState::Starting)
}

fn tell(text: &str) {
    tracing::info!("{text}");
}

impl Deref for LabLease {
    type Target = Lab;

    fn deref(&self) -> &Lab {
        &self.lab
    }
}

impl Drop for LabLease {
    fn drop(&mut self) {
        if !self.keep
            && let Err(error) = down(&self.paths, self.lab.name(), &tell)
        {
            tracing::error!(%error, "a test's lab could not be ended");
        }
        if let Some(lock) = self.lock.take() {
            lock.remove();
        }
    }
}
