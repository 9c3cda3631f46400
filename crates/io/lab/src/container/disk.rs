//! What a node writes: an upper layer over the image's tree, kept until the lab ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::LabError;
use crate::tools;

const COPY_TIMEOUT: Duration = Duration::from_secs(60);
const UPPER_FOLDER: &str = "upper";
const WORK_FOLDER: &str = "work";

#[derive(Debug)]
pub(crate) struct ContainerDisk {
    place: PathBuf,
    /// Where the whole file system appears, inside the node's own mount namespace.
    root: PathBuf,
    saved: PathBuf,
}

impl ContainerDisk {
    pub(crate) fn of(directory: &Path, node: &str) -> Self {
        Self {
            place: directory.join(format!("{node}.disk")),
            root: directory.join(format!("{node}.root")),
            saved: directory.join(format!("{node}.saved")),
        }
    }

    /// Mounted or made by whoever calls, and seen in the calling process's mount namespace.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Empty, unless the node has been started before.
    pub(crate) fn prepare(&self) -> Result<(), LabError> {
        for directory in [
            self.root.clone(),
            self.place.join(UPPER_FOLDER),
            self.place.join(WORK_FOLDER),
        ] {
            fs::create_dir_all(&directory).map_err(LabError::disk("make", &directory))?;
        }
        Ok(())
    }

    /// Back to before the first start. The node is off.
    pub(crate) fn clear(&self) -> Result<(), LabError> {
        match fs::remove_dir_all(&self.place) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::disk("remove", &self.place)(error))
            }
            _ => Ok(()),
        }
    }

    /// Keeps what is written now. The node is stopped.
    pub(crate) fn save(&self, snapshot: &str) -> Result<(), LabError> {
        let to = self.saved.join(snapshot);
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&self.saved).map_err(LabError::disk("make", &self.saved))?;
        copy(&self.place.join(UPPER_FOLDER), &to)
    }

    /// What was kept takes the place of what is written now. The node is off.
    pub(crate) fn load(&self, snapshot: &str) -> Result<(), LabError> {
        self.clear()?;
        fs::create_dir_all(&self.place).map_err(LabError::disk("make", &self.place))?;
        copy(&self.saved.join(snapshot), &self.place.join(UPPER_FOLDER))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), LabError> {
    let mut command = Command::new("cp");
    command.args(["--archive", "--no-target-directory"]);
    command.arg(from).arg(to);
    tools::output(&mut command, COPY_TIMEOUT)?;
    Ok(())
}
