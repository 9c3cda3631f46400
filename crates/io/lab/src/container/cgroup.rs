//! The control groups of a lab: whatever a node does, its processes stay in there, so that all of them can be frozen, killed and
//! counted.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::digest;

const POLL_INTERVAL: Duration = Duration::from_millis(10);
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// All groups of the lab at a directory.
#[derive(Debug)]
pub(crate) struct LabCgroups {
    root: PathBuf,
}

impl LabCgroups {
    /// Where they are, or would be; by the lab's directory, so that a later command finds them without having been told.
    pub(crate) fn of(directory: &Path) -> Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let hierarchy = mounts
            .lines()
            .find_map(|line| {
                let mut words = line.split(' ').skip(1);
                let (place, kind) = (words.next()?, words.next()?);
                (kind == "cgroup2").then_some(place)
            })
            .ok_or_else(|| Error::new(ErrorKind::NotFound, "no cgroup2 hierarchy is mounted"))?;
        let name = digest::short_of(&[&directory.to_string_lossy()]);
        Ok(Self {
            root: Path::new(hierarchy).join(format!("crosstie-lab-{name}")),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn node(&self, node: &str) -> PathBuf {
        self.root.join(node)
    }

    pub(crate) fn make(&self, node: &str) -> Result<PathBuf> {
        let path = self.node(node);
        fs::create_dir_all(&path)?;
        Ok(path)
    }

    pub(crate) fn freeze(&self, node: &str, frozen: bool) -> Result<()> {
        fs::write(
            self.node(node).join("cgroup.freeze"),
            if frozen { "1" } else { "0" },
        )
    }

    pub(crate) fn is_frozen(&self, node: &str) -> bool {
        fs::read_to_string(self.node(node).join("cgroup.freeze"))
            .is_ok_and(|text| text.trim() == "1")
    }

    /// Ends every process of the node, and leaves no group of it.
    pub(crate) fn end(&self, node: &str) -> Result<()> {
        end(&self.node(node))
    }

    /// Ends every process of every node, and leaves no group.
    pub(crate) fn end_all(&self) -> Result<()> {
        end(&self.root)
    }
}

fn end(group: &Path) -> Result<()> {
    let started = Instant::now();
    while group.exists() {
        // Whoever forks meanwhile is killed the next time.
        fs::write(group.join("cgroup.kill"), "1")?;
        if is_empty(group) && remove(group).is_ok() {
            return Ok(());
        }
        if started.elapsed() > END_TIMEOUT {
            return Err(Error::new(
                ErrorKind::TimedOut,
                format!("{} still has processes", group.display()),
            ));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn is_empty(group: &Path) -> bool {
    fs::read_to_string(group.join("cgroup.events"))
        .is_ok_and(|events| events.lines().any(|line| line == "populated 0"))
}

/// Groups cannot be removed by their contents, only from the inside out.
fn remove(group: &Path) -> Result<()> {
    for entry in fs::read_dir(group)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}
