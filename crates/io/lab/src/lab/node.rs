//! One node: start, wait until it answers, snapshot, reset, reboot.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{GATEWAY, Lab, LabKind, LabNodeState};
use crate::error::LabError;
use crate::profile::LabNode;
use crate::qemu::{self, NodeFilePaths};
use crate::snapshots::READY;
use crate::tools::ToolError;
use crate::{process, state, tools};

/// A boot under TCG on a busy machine.
const MACHINE_BOOT_TIMEOUT: Duration = Duration::from_secs(900);
const CONTAINER_BOOT_TIMEOUT: Duration = Duration::from_secs(90);
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(10);
const START_TIMEOUT: Duration = Duration::from_secs(30);
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(25);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(240);
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// The youngest processes last, each with the kernel function that it sleeps in; none of the kernel's own.
const WHAT_RUNS: &str =
    "ps --ppid 2 -p 2 --deselect -o pid,stat,wchan:24,etimes,args --sort=start_time";
const BOOT_ID: &str = "cat /proc/sys/kernel/random/boot_id";

impl Lab {
    /// Starts the node's QEMU, from a snapshot or from its disk, and lets it run.
    pub(super) fn start(&self, node: &LabNode, snapshot: Option<&str>) -> Result<(), LabError> {
        if self.record.kind == LabKind::Containers {
            return self.start_container(node);
        }
        let files = NodeFilePaths(&node.name);
        // Sockets of an earlier run: QEMU would refuse to bind, and a client would wait for nobody.
        for stale in [files.monitor(), files.console()] {
            let _ = std::fs::remove_file(self.directory.join(stale));
        }
        let image = self.record.image(node.arch);
        let mut command = qemu::node(
            &self.record.profile,
            node,
            &image,
            self.record.accel.of(node.arch),
            snapshot,
        );
        let id = process::spawn(&mut command, &self.directory, &files.log())
            .map_err(|_| self.died(&node.name, &files.log()))?;
        state::write_process(&self.directory, &files.process(), id)
            .map_err(LabError::disk("write into", &self.directory))?;
        let started = Instant::now();
        let mut monitor = loop {
            match self.monitor(node, POLL_INTERVAL) {
                Ok(monitor) => break monitor,
                Err(_) if !id.alive() => return Err(self.died(&node.name, &files.log())),
                Err(error) if started.elapsed() > START_TIMEOUT => return Err(error),
                Err(_) => {}
            }
        };
        let status = self.hub().status()?;
        self.set_carriers(node, &mut monitor, &status)?;
        monitor.resume().map_err(LabError::monitor(&node.name))
    }

    pub(super) fn died(&self, role: &str, log: &str) -> LabError {
        let text = std::fs::read_to_string(self.directory.join(log)).unwrap_or_default();
        LabError::Died {
            role: role.to_owned(),
            complaint: tools::tail(&text),
        }
    }

    /// Waits until root can log in and `script` succeeds; gives back what it printed.
    pub(super) fn wait_until(
        &self,
        node: &str,
        script: &str,
        deadline: Duration,
    ) -> Result<String, LabError> {
        let started = Instant::now();
        loop {
            if let Ok(outcome) = self.script(node, script, SCRIPT_TIMEOUT)
                && outcome.status.success()
            {
                return Ok(outcome.stdout);
            }
            let (_, machine) = self.find(node)?;
            if !self.is_on(machine) {
                return Err(self.died(node, &NodeFilePaths(node).log()));
            }
            let gateway = NodeFilePaths(GATEWAY);
            if state::process(&self.directory, &gateway.process()).is_none() {
                return Err(self.died("the gateway to the lab", &gateway.log()));
            }
            if started.elapsed() > deadline {
                return Err(self.not_up(node, deadline));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn not_up(&self, node: &str, waited: Duration) -> LabError {
        LabError::NotUp {
            node: node.to_owned(),
            waited,
            console: self.end_of_console(node),
        }
    }

    fn end_of_console(&self, node: &str) -> String {
        let log = self.directory.join(NodeFilePaths(node).console_log());
        let console = std::fs::read(log).unwrap_or_default();
        tools::tail(&String::from_utf8_lossy(&console))
    }

    pub(super) fn timeout_error(&self, node: &str, cause: ToolError) -> LabError {
        LabError::Stuck {
            node: node.to_owned(),
            cause,
            console: self.end_of_console(node),
        }
    }

    /// For a command that did not end: whether it hangs alone, or the node, or the way in.
    pub fn hang_diagnosis(&self, node: &str) -> String {
        match self.script(node, WHAT_RUNS, SCRIPT_TIMEOUT) {
            Ok(outcome) if outcome.status.success() => {
                format!("the node runs: {}", tools::tail(&outcome.stdout))
            }
            Ok(outcome) => format!("the node does not say: {}", tools::tail(&outcome.stderr)),
            Err(error) => format!("the node does not say: {error}"),
        }
    }

    pub(super) fn boot_timeout(&self) -> Duration {
        match self.record.kind {
            LabKind::Machines => MACHINE_BOOT_TIMEOUT,
            LabKind::Containers => CONTAINER_BOOT_TIMEOUT,
        }
    }

    /// Waits for a booting node: ssh answers and systemd has started everything.
    pub(super) fn wait_booted(&self, node: &str) -> Result<(), LabError> {
        // One login that waits: each takes an emulated node seconds in which it could have gone on starting.
        let script = "s=$(timeout 15 systemctl is-system-running --wait); \
                      [ \"$s\" = running ] || [ \"$s\" = degraded ]";
        self.wait_until(node, script, self.boot_timeout()).map(drop)
    }

    /// After a snapshot was loaded: the node's clock stands where it was saved.
    pub(super) fn set_clock(&self, node: &str) -> Result<(), LabError> {
        let started = Instant::now();
        loop {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let script = format!(
                "date -u -s @{}.{:03} >&2",
                now.as_secs(),
                now.subsec_millis()
            );
            let asked = Instant::now();
            match self.script(node, &script, SCRIPT_TIMEOUT) {
                // A slow login would set a stale time: once more then, on the warm path.
                Ok(outcome) if outcome.status.success() && asked.elapsed() < SCRIPT_TIMEOUT / 5 => {
                    return Ok(());
                }
                _ if started.elapsed() > SETTLE_TIMEOUT => {
                    return Err(self.not_up(node, SETTLE_TIMEOUT));
                }
                _ => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Saves the running node, memory and all, as what `reset` returns to.
    pub(super) fn save(&self, node: &LabNode) -> Result<(), LabError> {
        self.save_as(&node.name, READY)
    }

    /// Saves the running node, memory and all, as what `reset_to` returns to while this lab is up.
    pub fn save_as(&self, node: &str, snapshot: &str) -> Result<(), LabError> {
        let (_, machine) = self.find(node)?;
        if self.record.kind == LabKind::Containers {
            return self.save_container(machine, snapshot);
        }
        let mut monitor = self.monitor(machine, START_TIMEOUT)?;
        monitor.save(snapshot).map_err(LabError::monitor(node))
    }

    /// Puts the node back to where `up` left it, in seconds: disk, memory, but today's clock.
    pub fn reset(&self, node: &str) -> Result<(), LabError> {
        self.reset_to(node, READY)
    }

    pub fn reset_to(&self, node: &str, snapshot: &str) -> Result<(), LabError> {
        let (_, machine) = self.find(node)?;
        self.hang_up(node);
        if self.record.kind == LabKind::Containers {
            return self.reset_container(machine, snapshot);
        }
        if self.is_on(machine) {
            let mut monitor = self.monitor(machine, START_TIMEOUT)?;
            monitor.load(snapshot).map_err(LabError::monitor(node))?;
            let status = self.hub().status()?;
            self.set_carriers(machine, &mut monitor, &status)?;
            monitor.resume().map_err(LabError::monitor(node))?;
        } else {
            self.start(machine, Some(snapshot))?;
            self.refresh_carriers()?;
        }
        self.set_clock(node)
    }

    /// All nodes at once, and no fault on any cable.
    pub fn reset_all(&self) -> Result<(), LabError> {
        self.reset_all_to(READY)
    }

    /// To what `save_all` kept under this name; to where `up` left them, if it kept nothing.
    pub(crate) fn reset_all_to(&self, snapshot: &str) -> Result<(), LabError> {
        let snapshot = if self.has_kept(snapshot) {
            snapshot
        } else {
            READY
        };
        self.restore_all()?;
        self.each_node(|node| self.reset_to(&node.name, snapshot))
    }

    /// Saves all nodes at once, for `reset_to` and for later leases of this lab.
    pub fn save_all(&self, snapshot: &str) -> Result<(), LabError> {
        self.each_node(|node| self.save_as(&node.name, snapshot))?;
        let mark = self.kept_mark(snapshot);
        std::fs::write(&mark, "").map_err(LabError::disk("write", &mark))
    }

    pub fn has_kept(&self, snapshot: &str) -> bool {
        self.kept_mark(snapshot).exists()
    }

    fn kept_mark(&self, snapshot: &str) -> PathBuf {
        self.directory.join(format!("{snapshot}.kept"))
    }

    /// Runs `work` for every node at the same time; the first error wins.
    pub(super) fn each_node(
        &self,
        work: impl Fn(&LabNode) -> Result<(), LabError> + Sync,
    ) -> Result<(), LabError> {
        let work = &work;
        std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .record
                .profile
                .nodes
                .iter()
                .map(|node| scope.spawn(move || work(node)))
                .collect();
            // All are joined, whatever the first of them says.
            let outcomes: Vec<_> = threads
                .into_iter()
                .map(|thread| match thread.join() {
                    Ok(outcome) => outcome,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect();
            outcomes.into_iter().collect()
        })
    }

    /// A clean reboot, or a start when the node is off; back when it has booted.
    pub fn reboot(&self, node: &str) -> Result<(), LabError> {
        let (_, machine) = self.find(node)?;
        match self.state(machine) {
            LabNodeState::Off => return self.power_on(node),
            LabNodeState::Paused => self.resume(node)?,
            LabNodeState::Starting | LabNodeState::Running => {}
        }
        let before = self.wait_until(node, BOOT_ID, SETTLE_TIMEOUT)?;
        self.hang_up(node);
        // The connection may end before the answer comes.
        let _ = self.script(node, "systemctl reboot", SCRIPT_TIMEOUT);
        let script = format!("[ \"$({BOOT_ID})\" != {} ]", before.trim());
        self.wait_until(node, &script, self.boot_timeout())?;
        self.wait_booted(node)
    }

    /// Power gone in the middle of everything, then back; returns when the node has booted again.
    pub fn power_cut(&self, node: &str) -> Result<(), LabError> {
        self.kill(node)?;
        self.power_on(node)
    }

    /// Boots a node that is off.
    pub fn power_on(&self, node: &str) -> Result<(), LabError> {
        let (_, machine) = self.find(node)?;
        if !self.is_on(machine) {
            self.start(machine, None)?;
            self.refresh_carriers()?;
        }
        self.wait_booted(node)
    }
}
