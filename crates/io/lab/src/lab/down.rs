//! Ending labs: every process, every file.

use std::time::Duration;

use super::names;
use crate::ReportProgress;
use crate::container::LabCgroups;
use crate::error::LabError;
use crate::image;
use crate::lock::LabLock;
use crate::paths::LabPaths;
use crate::process;

const LAB_LOCK_TIMEOUT: Duration = Duration::from_secs(15);
const END_TIMEOUT: Duration = Duration::from_secs(20);

/// Ends the lab and removes its directory. False when there was none.
pub fn down(paths: &LabPaths, name: &str, say: ReportProgress<'_>) -> Result<bool, LabError> {
    super::up::check_name(name)?;
    if !paths.lab(name).exists() && !paths.lock(name).exists() {
        return Ok(false);
    }
    // An `up` that has just begun holds it, and has no directory yet.
    let lock = LabLock::take(&paths.lock(name), LAB_LOCK_TIMEOUT)?;
    let exists = paths.lab(name).exists();
    clear(paths, name, say)?;
    lock.remove();
    Ok(exists)
}

/// Ends the lab of this name, or the only one. Where there is none at all and none was named, that is said; a name that
/// no lab has is an error, since the lab that was meant goes on.
pub fn down_one(
    paths: &LabPaths,
    name: Option<&str>,
    say: ReportProgress<'_>,
) -> Result<(), LabError> {
    let known = names(paths);
    let name = match (name, known.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only.as_str(),
        (None, []) => {
            say("no lab is up");
            return Ok(());
        }
        (None, _) => return Err(LabError::Several { known }),
    };
    if down(paths, name, say)? {
        return Ok(());
    }
    Err(LabError::NoLab {
        lab: name.to_owned(),
        known,
    })
}

/// Ends every lab; the errors of those that would not end.
pub fn down_all(paths: &LabPaths, say: ReportProgress<'_>) -> Vec<LabError> {
    let errors = names(paths)
        .iter()
        .filter_map(|name| down(paths, name, say).err())
        .collect();
    remove_stray_locks(paths);
    errors
}

/// Of an `up` that was killed before it made anything else. One that is held is somebody's.
fn remove_stray_locks(paths: &LabPaths) {
    let entries = std::fs::read_dir(&paths.labs).into_iter().flatten();
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_lock = path
            .extension()
            .is_some_and(|extension| extension == "lock");
        let is_stray = is_lock && !path.with_extension("").exists();
        if is_stray && let Ok(lock) = LabLock::take(&path, Duration::ZERO) {
            lock.remove();
        }
    }
}

/// With the lab's lock held: ends its processes, then removes its files.
pub(super) fn clear(paths: &LabPaths, name: &str, say: ReportProgress<'_>) -> Result<(), LabError> {
    let directory = paths.lab(name);
    if !directory.exists() {
        return Ok(());
    }
    // Containers and what their supervisors may start until they end.
    let end_groups = || match LabCgroups::of(&directory) {
        Ok(groups) => groups
            .end_all()
            .map_err(LabError::disk("end the control groups of", &directory)),
        // Without control groups there was no container.
        Err(_) => Ok(()),
    };
    end_groups()?;
    let ended = process::end_all(&directory, END_TIMEOUT).map_err(|source| LabError::End {
        lab: name.to_owned(),
        source,
    })?;
    end_groups()?;
    std::fs::remove_dir_all(&directory).map_err(LabError::disk("remove", &directory))?;
    image::clean_up_builds(paths);
    say(&format!("lab \"{name}\" is gone ({ended} processes ended)"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_lab_has_is_an_error_that_names_those_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let paths = LabPaths::new(folder.path());
        std::fs::create_dir(paths.lab("firsthour")).unwrap();
        let error = down_one(&paths, Some("fh9"), &|_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no lab \"fh9\": there are firsthour"
        );
        std::fs::remove_dir(paths.lab("firsthour")).unwrap();
        down_one(&paths, None, &|_| ()).unwrap();
    }
}
