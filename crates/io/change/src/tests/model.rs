//! A machine that can die at any edge.

mod trial;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use crosstie_durable::{
    FileOperations, RealDisk, remove, sync_folder, testing::UnsyncedWrites, write,
};
use crosstie_model::{
    ClusterSpec, Facts, Mtu, NodePlan, PlanStep, Reading,
    change::{ApplyRequest, TryCommandResult},
    plan::ConfigReload,
};
use crosstie_node::{
    netlink::NetlinkError,
    network_state::{
        NetworkRestoreObstacle, NetworkState, SnapshotScope,
        testing::{TestInterface, covered, state},
    },
};
use crosstie_plan::simulated_node::SimulatedNode;
use rustix::io::Errno;
use tempfile::TempDir;

pub(super) use super::file_tree::Tree;
use super::file_tree::{copy, walk};

use super::super::{
    error::{
        ExternalProgramError, GuardRunError, GuardSetupError, ManagerError, RollbackObstacle,
        StepError, TrialError,
    },
    guard_run,
    rollback::RollbackMoment,
    system_access::SystemAccess,
};

pub(super) struct Model {
    root: TempDir,
    facts: Facts,
    /// What the kernel holds.
    kernel: Mutex<SimulatedNode>,
    boots: AtomicU64,
    passed: Mutex<Vec<&'static str>>,
    dies_at: AtomicU32,
    /// Nothing can be written to the disk from this edge on.
    full_from: AtomicU32,
    /// Milliseconds since the boot; every edge takes one.
    clock: AtomicU64,
    unsynced: UnsyncedWrites,
    /// Managers refuse to read their files.
    pub(super) managers_fail: AtomicBool,
    /// Interfaces that went while nobody looked.
    pub(super) vanished: Mutex<BTreeSet<String>>,
    /// systemctl is killed as soon as it is started, as in a session that ends.
    pub(super) systemctl_fails: AtomicBool,
    /// The same, from when a guard is armed.
    pub(super) arming_fails: AtomicBool,
    /// The same, from when a guard should go.
    pub(super) guard_stays: AtomicBool,
    /// systemd does not say whether a guard waits.
    pub(super) systemd_is_silent: AtomicBool,
    /// The kernel takes nothing of the network.
    pub(super) network_refused: AtomicBool,
    /// The kernel does not tell its addresses.
    pub(super) addresses_are_unread: AtomicBool,
    /// Settings that the kernel does not take.
    pub(super) refused: Mutex<BTreeSet<String>>,
    /// The disk takes nothing any more.
    pub(super) is_read_only: AtomicBool,
    /// `/etc` alone, where the guard's units are too.
    pub(super) is_etc_read_only: AtomicBool,
    /// Trials whose commands were ended.
    pub(super) ended_commands: Mutex<Vec<String>>,
    /// Why nobody waits any more.
    pub(super) abandoned: Mutex<Option<&'static str>>,
}

const SPARK: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../fixtures/nodes/spark-healthy"
);
const CLUSTER: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../fixtures/clusters/pair.toml"
));

/// Parsed once: there are hundreds of models.
fn spark() -> &'static Facts {
    static FACTS: LazyLock<Facts> = LazyLock::new(|| {
        let loaded = crosstie_node::capture::load(Path::new(SPARK)).unwrap();
        let raw = loaded.into_iter().next().unwrap().raw.unwrap();
        crosstie_facts::facts(&raw)
    });
    &FACTS
}

fn plan(facts: &Facts) -> NodePlan {
    let spec = ClusterSpec::from_toml(CLUSTER).unwrap();
    let plan = crosstie_plan::plan(&spec, std::slice::from_ref(facts)).unwrap();
    plan.nodes.into_iter().next().unwrap()
}

/// What unwinds in place of a killed process.
struct Died;

impl Model {
    /// A Spark that others have configured already.
    pub(super) fn new() -> Self {
        Self::of(spark().clone())
    }

    /// One whose kernel has to be told something, too.
    pub(super) fn with_sysctls(names: &[&str], value: &str) -> Self {
        let mut facts = spark().clone();
        let values = names
            .iter()
            .map(|&name| (name.to_owned(), value.to_owned()));
        facts.sysctls.extend(values);
        Self::of(facts)
    }

    /// One of which something else is read.
    pub(super) fn with_facts(change: impl FnOnce(&mut Facts)) -> Self {
        let mut facts = spark().clone();
        change(&mut facts);
        Self::of(facts)
    }

    fn of(facts: Facts) -> Self {
        // In memory: thousands of files are synced to disk.
        let root = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        copy(&Path::new(SPARK).join("root/etc"), &root.path().join("etc"));
        fs::create_dir_all(root.path().join("etc/systemd/system")).unwrap();
        fs::set_permissions(
            root.path().join("etc/hosts"),
            fs::Permissions::from_mode(0o664),
        )
        .unwrap();
        let netplan = root.path().join("etc/netplan/40-fabric.yaml");
        fs::set_permissions(netplan, fs::Permissions::from_mode(0o600)).unwrap();
        let kernel = Mutex::new(SimulatedNode::of(&facts));
        Self {
            root,
            facts,
            kernel,
            boots: AtomicU64::new(1),
            passed: Mutex::default(),
            dies_at: AtomicU32::new(0),
            full_from: AtomicU32::new(0),
            clock: AtomicU64::new(1_000_000),
            unsynced: UnsyncedWrites::default(),
            managers_fail: AtomicBool::new(false),
            vanished: Mutex::default(),
            systemctl_fails: AtomicBool::new(false),
            arming_fails: AtomicBool::new(false),
            guard_stays: AtomicBool::new(false),
            systemd_is_silent: AtomicBool::new(false),
            network_refused: AtomicBool::default(),
            addresses_are_unread: AtomicBool::default(),
            refused: Mutex::default(),
            is_read_only: AtomicBool::default(),
            is_etc_read_only: AtomicBool::default(),
            ended_commands: Mutex::default(),
            abandoned: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> PathBuf {
        self.path(super::super::CHANGES_FOLDER)
    }

    pub(super) fn order(&self) -> ApplyRequest {
        let plan = plan(&self.facts());
        assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
        ApplyRequest {
            run: "20261115T100000Z-00000001".to_owned(),
            cluster: "pair".to_owned(),
            plan,
            guard_seconds: 120,
            force: true,
        }
    }

    /// Runs `work`, which dies at the edge with this number. `None` where it did; edges are counted from here.
    pub(super) fn dying<T>(&self, edge: u32, work: impl FnOnce() -> T) -> Option<T> {
        self.passed.lock().unwrap().clear();
        self.dies_at.store(edge, Ordering::SeqCst);
        let result = catch_unwind(AssertUnwindSafe(work));
        self.dies_at.store(0, Ordering::SeqCst);
        match result {
            Ok(value) => Some(value),
            Err(payload) if payload.is::<Died>() => None,
            Err(payload) => resume_unwind(payload),
        }
    }

    pub(super) fn edges(&self) -> Vec<&'static str> {
        self.passed.lock().unwrap().clone()
    }

    /// What was written and not synced may be anything.
    pub(super) fn tear_writes(&self) {
        self.unsynced.tear_files().unwrap();
    }

    /// What the kernel held is gone; then the boot unit runs, if there is one, and the boot goes on.
    pub(super) fn lose_power(&self) {
        self.boots.fetch_add(1, Ordering::SeqCst);
        *self.kernel.lock().unwrap() = SimulatedNode::of(&self.facts);
        self.unsynced.keep_names();
        let _ = fs::remove_dir_all(self.path("/run"));
        self.start_guard(RollbackMoment::EarlyBoot);
        self.boot_network();
    }

    /// Interfaces come up as files say.
    fn boot_network(&self) {
        if !self.path("/etc/netplan/90-crosstie.yaml").exists() {
            return;
        }
        for step in &plan(&self.facts).steps {
            assert!(self.reread(step.rereads()).is_empty());
            self.set(step).unwrap();
        }
    }

    pub(super) fn armed(&self) -> Option<String> {
        fs::read_to_string(self.root.path().join("armed")).ok()
    }

    /// The guard's work, at its moment.
    pub(super) fn time_is_up(&self) {
        self.clock.fetch_add(180_000, Ordering::SeqCst);
        self.unsynced.keep_names();
        self.start_guard(RollbackMoment::Running);
    }

    /// systemd starts the program beside the journal, which has to be there.
    fn start_guard(&self, moment: RollbackMoment) {
        if let Some(id) = self.armed() {
            let program = self.state().join(&id).join("crosstie");
            assert!(program.exists(), "203/EXEC: {}", program.display());
            guard_run::run_guard(self, &self.state(), &id, moment).unwrap();
        }
    }

    fn systemctl(&self) -> Result<(), GuardSetupError> {
        if self.systemctl_fails.load(Ordering::SeqCst) {
            return Err(GuardSetupError::NotCounting {
                wanted: Duration::ZERO,
                found: "killed".to_owned(),
            });
        }
        Ok(())
    }

    pub(super) fn fill_disk_from(&self, edge: u32) {
        self.passed.lock().unwrap().clear();
        self.full_from.store(edge, Ordering::SeqCst);
    }

    pub(super) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.root.path().join("etc"), self.root.path(), &mut tree);
        tree
    }

    /// What the kernel holds, but for modules, which stay loaded.
    pub(super) fn kernel(&self) -> SimulatedNode {
        let mut kernel = self.kernel.lock().unwrap().clone();
        kernel.files.clear();
        kernel
    }

    /// As somebody does by hand.
    pub(super) fn set_mtu(&self, interface: &str, mtu: u32) {
        let mut kernel = self.kernel.lock().unwrap();
        kernel.interfaces.get_mut(interface).unwrap().mtu = Some(Mtu(mtu));
    }

    fn writable(&self, path: &Path) -> io::Result<()> {
        let is_of_etc =
            path == self.root.path().join("armed") || path.starts_with(self.path("/etc"));
        let is_read_only = self.is_read_only.load(Ordering::SeqCst);
        if is_read_only || is_of_etc && self.is_etc_read_only.load(Ordering::SeqCst) {
            Err(Errno::ROFS.into())
        } else {
            Ok(())
        }
    }

    fn network(&self, scope: &SnapshotScope) -> NetworkState {
        let kernel = self.kernel.lock().unwrap();
        let is_unread = self.addresses_are_unread.load(Ordering::SeqCst);
        let interfaces = kernel.interfaces.iter().map(|(name, found)| {
            let interface = kernel.facts.network.interface(name).unwrap();
            TestInterface {
                name: name.clone(),
                up: interface.up.known() == Some(&true),
                mtu: found.mtu.map_or(0, |mtu| mtu.0),
                addresses: (!is_unread).then(|| found.addresses.clone()),
            }
        });
        state(scope, &self.boot(), &interfaces.collect::<Vec<_>>())
    }

    fn ask_managers(&self) -> Vec<ManagerError> {
        let is_failing = self.managers_fail.load(Ordering::SeqCst);
        let error = || failed("networkctl reload", "the manager does not answer").into();
        is_failing.then(error).into_iter().collect()
    }

    fn facts_of(&self, kernel: &SimulatedNode) -> Facts {
        let mut memory = kernel.clone();
        memory.files = self
            .tree()
            .into_iter()
            .filter_map(|(path, (mode, _, bytes))| {
                Some((path, (mode & 0o7777, String::from_utf8(bytes).ok()?)))
            })
            .collect();
        memory.facts()
    }
}

fn failed(command: &str, complaint: &str) -> ExternalProgramError {
    ExternalProgramError::Failed {
        command: command.to_owned(),
        complaint: complaint.to_owned(),
    }
}

impl SystemAccess for Model {
    fn own(&self, _: &str) {}

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    fn boot(&self) -> String {
        self.boots.load(Ordering::SeqCst).to_string()
    }

    fn uptime(&self) -> Duration {
        Duration::from_millis(self.clock.load(Ordering::SeqCst))
    }

    fn now(&self) -> String {
        "2026-11-15T10:00:00Z".to_owned()
    }

    fn facts(&self) -> Facts {
        self.facts_of(&self.kernel.lock().unwrap().clone())
    }

    fn store_program(&self, path: &Path) -> io::Result<()> {
        write(self, path, b"program", 0o700)
    }

    fn arm(
        &self,
        transaction: &str,
        _program: &Path,
        _guard: Duration,
    ) -> Result<(), GuardSetupError> {
        let path = self.root.path().join("armed");
        let written = write(self, &path, transaction.as_bytes(), 0o644);
        written.map_err(|source| GuardSetupError::Unit {
            path: path.display().to_string(),
            source,
        })?;
        let is_killed = self.arming_fails.load(Ordering::SeqCst);
        self.systemctl_fails.fetch_or(is_killed, Ordering::SeqCst);
        self.systemctl()
    }

    fn is_guard_waiting(&self) -> Option<bool> {
        let is_silent = self.systemd_is_silent.load(Ordering::SeqCst);
        (!is_silent).then(|| self.armed().is_some())
    }

    fn guarded(&self) -> Option<String> {
        self.armed()
    }

    fn disarm(&self) -> Result<(), GuardSetupError> {
        self.edge("before the guard goes");
        let stays = self.guard_stays.load(Ordering::SeqCst);
        self.systemctl_fails.fetch_or(stays, Ordering::SeqCst);
        self.systemctl()?;
        let path = self.root.path().join("armed");
        let removed = self.writable(&path).and_then(|()| remove(&path));
        removed.map_err(|source| GuardSetupError::Unit {
            path: path.display().to_string(),
            source,
        })?;
        self.edge("the guard is gone");
        Ok(())
    }

    fn abandoned(&self) -> Option<&'static str> {
        *self.abandoned.lock().unwrap()
    }

    fn rollback_now(&self, transaction: &str) -> Result<Vec<String>, GuardRunError> {
        let outcome =
            guard_run::run_guard(self, &self.state(), transaction, RollbackMoment::Running)?;
        Ok(outcome.map(|outcome| outcome.left).unwrap_or_default())
    }

    fn set(&self, step: &PlanStep) -> Result<(), StepError> {
        if step.is_done(&self.facts()) {
            return Ok(());
        }
        if let PlanStep::Sysctl(sysctl) = step
            && self.refused.lock().unwrap().contains(&sysctl.name)
        {
            return Err(StepError::Write {
                path: format!("/proc/sys/{}", sysctl.name.replace('.', "/")),
                value: "1".to_owned(),
                source: Errno::ROFS.into(),
            });
        }
        // Files and managers are others' affair.
        let mut kernel = self.kernel.lock().unwrap();
        let applied = step.foresee(&mut kernel.facts);
        applied.map_err(|stale| failed("a step", &stale.to_string()).into())
    }

    fn reread(&self, then: &[ConfigReload]) -> Vec<ManagerError> {
        let mut failures = self.ask_managers();
        let is_failing = !failures.is_empty();
        let mut kernel = self.kernel.lock().unwrap();
        for change in then.iter().filter_map(ConfigReload::interface) {
            let interface = kernel.interfaces.get_mut(&change.name).unwrap();
            if is_failing {
                // It gave up in the middle.
                interface.addresses.clear();
            } else if self.vanished.lock().unwrap().contains(&change.name) {
                let why = format!("there is no {}", change.name);
                failures.push(failed("networkctl reconfigure", &why).into());
            } else {
                interface.addresses.clone_from(&change.addresses.to);
                interface.mtu = change.mtu.to;
            }
        }
        failures
    }

    fn render_at_boot(&self) -> Vec<ManagerError> {
        self.ask_managers()
    }

    fn before(&self, interfaces: &[String]) -> NetworkState {
        self.network(&SnapshotScope::Interfaces(interfaces.to_vec()))
    }

    fn full_runtime_snapshot(&self) -> (NetworkState, Vec<String>) {
        (self.network(&SnapshotScope::Everything), Vec::new())
    }

    fn snapshot_like(&self, earlier: &NetworkState) -> NetworkState {
        self.network(earlier.scope())
    }

    fn run_trial(
        &self,
        _transaction: &str,
        command: &[String],
        _deadline: Duration,
    ) -> Result<TryCommandResult, TrialError> {
        self.change_by_hand(command);
        Ok(TryCommandResult {
            status: Some(0),
            output: String::new(),
        })
    }

    fn end_trial_command(&self, transaction: &str) -> io::Result<()> {
        self.ended_commands
            .lock()
            .unwrap()
            .push(transaction.to_owned());
        Ok(())
    }

    fn reread_all(&self) -> Vec<ManagerError> {
        self.ask_managers()
    }

    fn restore_runtime(&self, before: &NetworkState) -> Vec<RollbackObstacle> {
        if self.network_refused.load(Ordering::SeqCst) {
            return vec![RollbackObstacle::Network(NetworkRestoreObstacle::Kernel {
                what: "the address of enp1s0f0np0".to_owned(),
                call: "RTM_NEWADDR",
                source: NetlinkError::Refused(Errno::BUSY),
            })];
        }
        let now = self.network(&SnapshotScope::Everything);
        let now: BTreeMap<String, TestInterface> = covered(&now)
            .map(|interface| (interface.name.clone(), interface))
            .collect();
        let mut kernel = self.kernel.lock().unwrap();
        let vanished = self.vanished.lock().unwrap();
        for wanted in covered(before).filter(|wanted| !vanished.contains(&wanted.name)) {
            let now = &now[&wanted.name];
            let found = kernel.interfaces.get_mut(&wanted.name).unwrap();
            found.addresses = wanted.addresses.unwrap_or_else(|| found.addresses.clone());
            if wanted.mtu != now.mtu {
                found.mtu = Some(Mtu(wanted.mtu));
            }
            if wanted.up != now.up {
                let interface = kernel.facts.network.interface_mut(&wanted.name).unwrap();
                interface.up = Reading::Value(wanted.up);
            }
        }
        Vec::new()
    }

    fn pause(&self, time: Duration) {
        let time = u64::try_from(time.as_millis()).unwrap();
        self.clock.fetch_add(time, Ordering::SeqCst);
    }
}

impl FileOperations for Model {
    fn wrote(&self, path: &Path) {
        self.unsynced.wrote(path);
    }

    fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        self.writable(path)?;
        self.unsynced.synced(path);
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.writable(to)?;
        self.unsynced.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.writable(path)?;
        fs::remove_file(path)
    }

    fn create_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.writable(path)?;
        RealDisk.create_folder(path, mode)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.unsynced.synced_folder(folder);
        sync_folder(folder)
    }

    fn edge(&self, name: &'static str) {
        let number = {
            let mut passed = self.passed.lock().unwrap();
            passed.push(name);
            u32::try_from(passed.len()).unwrap()
        };
        self.clock.fetch_add(1, Ordering::SeqCst);
        // Nobody goes on before the name is on the disk, too.
        let unsynced = self.unsynced.folders();
        assert!(
            unsynced.is_empty() || name == "a file has its name",
            "{name}: a power cut may take the name that something got in {unsynced:?}"
        );
        if number == self.dies_at.load(Ordering::SeqCst) {
            resume_unwind(Box::new(Died));
        }
        let full = self.full_from.load(Ordering::SeqCst);
        if full != 0 && number == full {
            // The next file cannot be made.
            let state = self.state();
            let _ = fs::remove_dir_all(&state);
            let _ = fs::write(&state, "in the way");
        }
    }
}
