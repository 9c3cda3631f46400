//! A user's manager ends with the user's last session unless the user lingers. A job that needs it notes that first, so that it
//! is known after a power cut, too, and whoever stops the job takes it back.

use std::{fs, io, time::Duration};

use crosstie_durable::{RealDisk, remove_synced, rename_synced};
use crosstie_launch::job_protocol::JobCallError;
use crosstie_node::command::{CommandLimits, run};

use crate::{
    folder::{JobFolder, SystemdManager},
    system,
};

/// This job made the user linger.
const LINGER_MARK_FILE: &str = "made-user-linger";

/// Does nothing where the user lingers already, or where the unit is the system's.
pub(crate) fn enable(folder: &JobFolder) -> Result<(), JobCallError> {
    if folder.manager == SystemdManager::System || lingers(folder) {
        return Ok(());
    }
    let marked = folder.mark(LINGER_MARK_FILE);
    marked.map_err(system("note that the user is to linger"))?;
    let user = folder.owner.user.to_string();
    loginctl(&["enable-linger", &user]).map_err(|why| JobCallError::System {
        what: format!(
            "keep units of {} after logout (loginctl enable-linger); pass --sudo for units of the system's own manager",
            folder.owner.name
        ),
        why,
    })
}

/// Undoes what this job did, unless another one needs it: then it is that one's from now on.
pub(crate) fn release(folder: &JobFolder, others: &[JobFolder]) -> Result<(), String> {
    let mark = folder.file(LINGER_MARK_FILE);
    if !mark.exists() {
        return Ok(());
    }
    let needs =
        |other: &&JobFolder| other.manager == SystemdManager::User && other.job != folder.job;
    if let Some(heir) = others.iter().find(needs) {
        return match rename_synced(&RealDisk, &mark, &heir.file(LINGER_MARK_FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        };
    }
    let user = folder.owner.user.to_string();
    loginctl(&["disable-linger", &user])?;
    remove_synced(&RealDisk, &mark)
        .map(drop)
        .map_err(|error| error.to_string())
}

fn lingers(folder: &JobFolder) -> bool {
    // As logind keeps it: the user may have no session for it to show.
    let file = format!("/var/lib/systemd/linger/{}", folder.owner.name);
    fs::symlink_metadata(file).is_ok()
}

fn loginctl(arguments: &[&str]) -> Result<(), String> {
    let bounds = CommandLimits {
        deadline: Duration::from_secs(15),
        ..CommandLimits::default()
    };
    let done = run("loginctl", arguments, bounds);
    done.map(drop).map_err(|gap| gap.to_string())
}
