//! Labs for tests: leased one at a time, reset between tests, kept running for the next one where the run asks for it.

use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::LabError;
use crate::lab::{HubProgram, Lab, NodeState, Request, down, names, up};
use crate::lock::Lock;
use crate::paths::Paths;
use crate::profile::Profile;

/// Set by a run of many test programs: its last act is `crosstie lab down --all --dir` of this directory.
pub const KEEP: &str = "CROSSTIE_LAB_KEEP";
/// Longest wait for other tests: each of them has deadlines of its own.
const OTHERS: Duration = Duration::from_secs(1800);
const SEED: u64 = 1;

/// A lab of one's own until dropped.
#[derive(Debug)]
pub struct Lease {
    lab: Lab,
    paths: Paths,
    keep: bool,
    lock: Option<Lock>,
}

/// A lab of this profile with every node as `up` left it and no fault on any cable.
pub fn lease(profile: &str, hub: HubProgram) -> Result<Lease, LabError> {
    let profile = Profile::find(profile)?;
    let kept = std::env::var_os(KEEP).map(PathBuf::from);
    let mut paths = Paths::new(kept.as_deref());
    if kept.is_none() {
        paths.labs.set_file_name("test-labs");
    }
    // One lab at a time: a small machine holds no second one beside it.
    let lock = Lock::take(&paths.labs.join("lease.lock"), OTHERS)?;
    let name = profile.name.clone();
    for other in names(&paths).iter().filter(|other| **other != name) {
        down(&paths, other, &tell)?;
    }
    let lab = match Lab::open(&paths, &name) {
        Ok(lab) if is_whole(&lab) && lab.reset_all().is_ok() => lab,
        _ => {
            down(&paths, &name, &tell)?;
            let request = Request {
                name,
                profile,
                seed: SEED,
                ssh_port: None,
                fresh: false,
                hub,
            };
            up(&paths, &request, &tell)?
        }
    };
    Ok(Lease {
        lab,
        paths,
        keep: kept.is_some(),
        lock: Some(lock),
    })
}

/// A lab that lost its hub or its way in is made anew.
fn is_whole(lab: &Lab) -> bool {
    lab.has_cables()
        && lab
            .status()
            .nodes
            .iter()
            .all(|node| node.state != NodeState::Starting)
}

fn tell(text: &str) {
    tracing::info!("{text}");
}

impl Deref for Lease {
    type Target = Lab;

    fn deref(&self) -> &Lab {
        &self.lab
    }
}

impl Drop for Lease {
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
