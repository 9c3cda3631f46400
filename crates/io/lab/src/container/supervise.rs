//! What stands in for a node's hardware: starts its init, plugs it in, and starts it again when it reboots.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;

use super::{ContainerDisk, LabCgroups};
use crate::error::LabError;
use crate::lab::Lab;
use crate::process::{self, ProcessId};
use crate::profile::LabNode;
use crate::tools;

const ENTER: &str = include_str!("../../container/enter.sh");
const INIT: &str = include_str!("../../container/init.sh");
const MOUNT_TIMEOUT: Duration = Duration::from_secs(10);

/// The command that runs `serve`: mounts that it makes are seen by it and its children alone, and end with them.
pub(crate) fn command(mut program: Command, directory: &Path, node: &str) -> Command {
    program.arg(directory).arg(node);
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "--"])
        .arg(program.get_program())
        .args(program.get_args());
    command
}

/// Runs the node until it is switched off or killed.
pub fn serve(directory: &Path, node: &str) -> Result<(), LabError> {
    let lab = Lab::at(directory)?;
    let (index, node) = lab.find(node)?;
    let disk = ContainerDisk::of(directory, &node.name);
    if let Some(size) = node.container.disk_mib {
        limit(disk.place(), size)?;
    }
    disk.prepare()?;
    loop {
        let mut child = boot(&lab, index, node)?;
        let status = child
            .wait()
            .map_err(LabError::disk("wait for", directory))?;
        if !asks_for_reboot(status) {
            return Ok(());
        }
        // What a shutdown left behind.
        groups(directory)?
            .end(&node.name)
            .map_err(LabError::disk("clear", directory))?;
    }
}

fn groups(directory: &Path) -> Result<LabCgroups, LabError> {
    LabCgroups::of(directory).map_err(LabError::disk("look for control groups of", directory))
}

/// A disk of its own, in memory.
fn limit(place: &Path, size: u32) -> Result<(), LabError> {
    std::fs::create_dir_all(place).map_err(LabError::disk("make", place))?;
    let mut command = Command::new("mount");
    command
        .args([
            "-t",
            "tmpfs",
            "-o",
            &format!("size={size}m,mode=755"),
            "tmpfs",
        ])
        .arg(place);
    tools::output(&mut command, MOUNT_TIMEOUT)?;
    Ok(())
}

fn boot(lab: &Lab, index: usize, node: &LabNode) -> Result<Child, LabError> {
    let directory = lab.directory();
    let group = groups(directory)?
        .make(&node.name)
        .map_err(LabError::disk("make a control group for", directory))?;
    let mut command = Command::new("sh");
    process::mark(&mut command, directory).map_err(LabError::disk("mark", directory))?;
    command
        .env("INIT", INIT)
        .env("MANAGER", node.container.manager.as_deref().unwrap_or(""))
        // Its own, and the loopback interface.
        .env("NICS", (node.nics().count() + 2).to_string())
        .args(["-c", ENTER, "sh"])
        .arg(directory)
        .arg(&node.name)
        .arg(&group)
        .arg(lab.tree()?)
        .arg(node.container.slept_seconds.to_string());
    let child = command
        .spawn()
        .map_err(|source| tools::start(&command, source))?;
    let id = i32::try_from(child.id()).ok().and_then(ProcessId::of);
    let cables = lab.cables()?;
    if let Some(id) = id {
        cables.plug(lab.profile(), index, node, id)?;
        lab.refresh_carriers()?;
    }
    Ok(child)
}

/// The kernel ends a pid namespace so where its init asks for a restart (reboot(2)).
fn asks_for_reboot(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::HUP.as_raw())
}
