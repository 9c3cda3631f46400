//! The journal of one change: written whole before anything is changed, never written again. What changes is its state.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use crosstie_durable::{self as durable, AtomicWrite, RealDisk};
use crosstie_model::{
    PlanStep,
    change::{TransactionKind, TransactionState},
};
use serde::{Deserialize, Serialize};

use crosstie_node::network_state::NetworkState;

use super::{
    boot_notes, boot_program,
    drift::DriftRecord,
    error::{ChangeJournalError, RollbackObstacle, told},
    file_image::{CurrentFile, FileImage, ImageContents, PlannedContent},
    folder::FolderImage,
    node_system::is_own_program,
    system_access::SystemAccess,
};

pub(super) const FORMAT: u32 = 2;
/// A journal with the plan of a machine of many ports has some tens of kilobytes.
const MAX_JOURNAL_BYTES: u64 = 64 << 20;
const JOURNAL: &str = "journal.json";
/// Of a journal that could not be read, in the folder that it leaves.
const UNREADABLE_JOURNAL: &str = "unreadable-journal.json";
const STATE: &str = "state.json";
const PROGRAM: &str = "crosstie";
/// Of a trial that was confirmed: the network as it was left then.
const NETWORK_AFTER: &str = "network-after.json";
/// Of a rollback that could not restore all of the network: what it wanted, and what it left.
const NETWORK_WANTED: &str = "network-wanted.json";
const NETWORK_LEFT: &str = "network-left.json";
const UNFINISHED_FOLDER: &str = ".unfinished";
/// Room on the disk that is given up when a rollback finds none.
const RESERVE: &str = "reserve";
const RESERVE_BYTES: usize = 128 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeJournal {
    pub(super) format: u32,
    pub(super) id: String,
    /// Shared with the other nodes of the same command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<String>,
    pub(super) kind: TransactionKind,
    /// The cluster's name; of a trial, its command.
    pub(super) what: String,
    pub(super) began: String,
    /// The boot in which it was begun, for whoever looks.
    pub(super) boot: String,
    pub(super) guard_seconds: u32,
    pub(super) steps: Vec<PlanStep>,
    pub(super) images: Vec<FileImage>,
    /// Folders that were not there, outermost first.
    pub(super) folders: Vec<String>,
    /// Folders of which every file is in the images: what is new there goes.
    #[serde(default)]
    pub(super) watched: Vec<String>,
    /// Those folders and all below them, each before what it holds.
    #[serde(default)]
    pub(super) tree: Vec<FolderImage>,
    /// Whether the boot unit's program was there before, of a change that puts one there.
    #[serde(default)]
    pub(super) boot_program: Option<bool>,
    /// Of a trial: what was not as it had been left already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) drift: Vec<DriftRecord>,
    /// Runtime state that a step's own `from` does not tell.
    pub(super) before: NetworkState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TransactionProgress {
    pub(super) state: TransactionState,
    /// The boot in which the guard was armed, and its uptime then.
    pub(super) boot: String,
    pub(super) armed_ms: u64,
    /// Why it is, or was, rolled back.
    pub(super) why: Option<String>,
    /// What a rollback could not restore, besides files.
    #[serde(default)]
    pub(super) left: Vec<String>,
    /// Files that are still not what they were; `uninstall` tries again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) unrestored: Vec<String>,
    /// What of the network is still not what it was; likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) unrestored_network: Vec<String>,
    /// Of a trial that was confirmed: what it left otherwise than the changes before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) kept_by_trial: Vec<DriftRecord>,
    /// Likewise: what it did to files. No other file is its affair any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changed_by_trial: Option<TrialChanges>,
}

/// What a trial left otherwise than it was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct TrialChanges {
    pub(super) files: BTreeMap<String, PlannedContent>,
    /// Made, removed, or given another owner or mode.
    pub(super) folders: BTreeSet<String>,
}

impl TrialChanges {
    fn has(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.folders.contains(path)
    }
}

impl TransactionProgress {
    pub(super) fn has_left(&self) -> bool {
        !self.left.is_empty() || self.may_be_restored()
    }

    /// By another try.
    pub(super) fn may_be_restored(&self) -> bool {
        !self.unrestored.is_empty() || !self.unrestored_network.is_empty()
    }

    /// Everything that is not what it was, in words.
    pub(super) fn leftovers(&self) -> Vec<String> {
        let files = self.unrestored.iter();
        let files = files.map(|path| format!("{path} is not restored"));
        let network = self.unrestored_network.iter().cloned();
        let left = self.left.iter().cloned();
        left.chain(network).chain(files).collect()
    }
}

/// A transaction on disk.
#[derive(Debug, Clone)]
pub(super) struct StoredTransaction {
    pub(super) folder: PathBuf,
    pub(super) journal: ChangeJournal,
    pub(super) progress: TransactionProgress,
}

impl StoredTransaction {
    /// All of it becomes visible at once.
    pub(super) fn create(
        system: &dyn SystemAccess,
        state: &Path,
        mut journal: ChangeJournal,
        contents: &ImageContents,
    ) -> Result<Self, ChangeJournalError> {
        let folder = state.join(&journal.id);
        let unfinished = state.join(UNFINISHED_FOLDER);
        let progress = TransactionProgress {
            state: TransactionState::Prepared,
            boot: system.boot(),
            armed_ms: 0,
            why: None,
            left: Vec::new(),
            unrestored: Vec::new(),
            unrestored_network: Vec::new(),
            kept_by_trial: Vec::new(),
            changed_by_trial: None,
        };
        let made = (|| {
            durable::remove_tree(&unfinished)?;
            durable::private_folder(system, &unfinished)?;
            if boot_program::changes_boot_program(&journal.steps) {
                journal.boot_program = Some(boot_program::save_previous(system, &unfinished)?);
            }
            durable::write(
                system,
                &unfinished.join(RESERVE),
                &vec![0; RESERVE_BYTES],
                0o600,
            )?;
            for (index, content) in contents.iter().enumerate() {
                if let Some(bytes) = content {
                    durable::write(
                        system,
                        &unfinished.join(FileImage::file(index)),
                        bytes,
                        0o600,
                    )?;
                }
            }
            write_json(system, &unfinished.join(JOURNAL), &journal)?;
            write_json(system, &unfinished.join(STATE), &progress)?;
            system.store_program(&unfinished.join(PROGRAM))?;
            system.edge("a journal is written and has no name");
            durable::rename_synced(system, &unfinished, &folder)
        })();
        made.inspect_err(|_| {
            let _ = fs::remove_dir_all(&unfinished);
        })
        .map_err(ChangeJournalError::at(&folder))?;
        system.edge("a journal has its name");
        Ok(Self {
            folder,
            journal,
            progress,
        })
    }

    pub(super) fn open(folder: &Path) -> Result<Self, ChangeJournalError> {
        let journal = read_journal(folder)?;
        let progress = read_progress(folder);
        Ok(Self {
            folder: folder.to_owned(),
            journal,
            progress: progress.map_err(ChangeJournalError::at(&folder.join(STATE)))?,
        })
    }

    /// Whether there is a journal at all in the folder of a transaction.
    pub(super) fn is_in(folder: &Path) -> bool {
        may_exist(&folder.join(JOURNAL))
    }

    /// Oldest first.
    pub(super) fn all(state: &Path) -> Result<Vec<Self>, ChangeJournalError> {
        let folders = folders_with(state, JOURNAL)?;
        folders.iter().map(|folder| Self::open(folder)).collect()
    }

    /// Journals that are damaged are journals no more; their folders stay. Whether there was one.
    pub(super) fn set_damaged_aside(state: &Path) -> Result<bool, ChangeJournalError> {
        let mut is_any = false;
        for folder in folders_with(state, JOURNAL)? {
            if Self::open(&folder).is_err_and(|error| error.is_damage()) {
                let aside = folder.join(UNREADABLE_JOURNAL);
                durable::rename_synced(&RealDisk, &folder.join(JOURNAL), &aside)
                    .map_err(ChangeJournalError::at(&folder))?;
                is_any = true;
            }
        }
        Ok(is_any)
    }

    pub(super) fn unreadable_folders(state: &Path) -> Result<Vec<PathBuf>, ChangeJournalError> {
        folders_with(state, UNREADABLE_JOURNAL)
    }

    pub(super) fn program(&self) -> PathBuf {
        self.folder.join(PROGRAM)
    }

    /// What a trial that is confirmed now has made of the network.
    pub(super) fn save_network_after(
        &self,
        system: &dyn SystemAccess,
        after: &NetworkState,
    ) -> Result<(), ChangeJournalError> {
        let path = self.folder.join(NETWORK_AFTER);
        write_json(system, &path, after).map_err(ChangeJournalError::at(&path))
    }

    pub(super) fn network_after(&self) -> Result<NetworkState, ChangeJournalError> {
        self.network_in(NETWORK_AFTER)
    }

    fn network_in(&self, name: &str) -> Result<NetworkState, ChangeJournalError> {
        let path = self.folder.join(name);
        durable::read_json(&path, MAX_JOURNAL_BYTES).map_err(ChangeJournalError::at(&path))
    }

    /// For another try, when others will have changed the network, too.
    pub(super) fn save_unrestored_network(
        &self,
        system: &dyn SystemAccess,
        wanted: &NetworkState,
        left: &NetworkState,
    ) -> io::Result<()> {
        write_json(system, &self.folder.join(NETWORK_WANTED), wanted)?;
        write_json(system, &self.folder.join(NETWORK_LEFT), left)
    }

    pub(super) fn unrestored_network(
        &self,
    ) -> Result<(NetworkState, NetworkState), ChangeJournalError> {
        let wanted = self.network_in(NETWORK_WANTED)?;
        Ok((wanted, self.network_in(NETWORK_LEFT)?))
    }

    pub(super) fn is_in_force(&self) -> bool {
        self.progress.state == TransactionState::Confirmed
    }

    /// Whether a rollback has to look at this file or folder.
    pub(super) fn concerns(&self, path: &str) -> bool {
        let changed = self.progress.changed_by_trial.as_ref();
        changed.is_none_or(|changed| changed.has(path))
    }

    /// The files that a rollback has to look at.
    pub(super) fn concerned(&self) -> impl Iterator<Item = &str> {
        let images = self.journal.images.iter().map(|image| image.path.as_str());
        images.filter(|path| self.concerns(path))
    }

    /// Whether the change made it what it is, whatever that is: a trial under its guard.
    pub(super) fn has_left_anything(&self, image: &FileImage) -> bool {
        self.progress.state.is_open()
            && self.progress.changed_by_trial.is_none()
            && image.after.is_none()
    }

    /// Whether the change, and nobody else, made the file what it is.
    pub(super) fn has_left(&self, image: &FileImage, found: Option<&CurrentFile>) -> bool {
        let changed = self.progress.changed_by_trial.as_ref();
        let planned = changed.and_then(|changed| changed.files.get(&image.path));
        planned
            .or(image.after.as_ref())
            .is_none_or(|planned| planned.matches(found))
    }

    /// Durably.
    pub(super) fn enter(
        &mut self,
        system: &dyn SystemAccess,
        state: TransactionState,
        why: Option<&str>,
    ) -> Result<(), ChangeJournalError> {
        let entered = self.note(system, state, why);
        entered.map_err(ChangeJournalError::at(&self.state_file()))
    }

    pub(super) fn state_file(&self) -> PathBuf {
        self.folder.join(STATE)
    }

    fn progress_in(&self, state: TransactionState, why: Option<&str>) -> TransactionProgress {
        let mut progress = self.progress.clone();
        progress.state = state;
        progress.why = why.map(str::to_owned).or(progress.why);
        progress
    }

    fn note(
        &mut self,
        system: &dyn SystemAccess,
        state: TransactionState,
        why: Option<&str>,
    ) -> io::Result<()> {
        let mut progress = self.progress_in(state, why);
        if state == TransactionState::Armed {
            progress.boot = system.boot();
            progress.armed_ms = u64::try_from(system.uptime().as_millis()).unwrap_or(u64::MAX);
        }
        write_json(system, &self.state_file(), &progress)?;
        self.progress = progress;
        system.edge("a state is written");
        Ok(())
    }

    /// Why it is about to be rolled back, unless that is known. Its state stays.
    pub(super) fn save_reason(&mut self, system: &dyn SystemAccess, why: &str) -> io::Result<()> {
        if self.progress.why.is_some() {
            return Ok(());
        }
        let mut progress = self.progress.clone();
        progress.why = Some(why.to_owned());
        write_json(system, &self.state_file(), &progress)?;
        self.progress = progress;
        Ok(())
    }

    /// A step of a rollback, which a full disk does not stop: the room for it was reserved, and if others took that too, the
    /// old state is written over in its place. Where the disk takes nothing at all, the end is noted until the next boot.
    pub(super) fn save_rollback_state(
        &mut self,
        system: &dyn SystemAccess,
        state: TransactionState,
        why: Option<&str>,
    ) -> Result<(), RollbackObstacle> {
        let noted = match self.note(system, state, why) {
            Err(error) if durable::is_full(&error) => {
                let _ = durable::remove_synced(system, &self.folder.join(RESERVE));
                self.note(system, state, why)
            }
            other => other,
        };
        let noted = match noted {
            Err(error) if durable::is_full(&error) => self.overwrite(system, state, why),
            other => other,
        };
        let is_end = state == TransactionState::RolledBack;
        let id = self.journal.id.clone();
        let Err(source) = noted else {
            if is_end {
                boot_notes::remove_end(system, &id);
            }
            return Ok(());
        };
        let path = self.state_file().display().to_string();
        let obstacle = RollbackObstacle::State { path, source };
        self.progress = self.progress_in(self.progress.state, why);
        if is_end && self.progress.state != TransactionState::RolledBack {
            let mut end = self.progress_in(state, None);
            end.left.push(told(&obstacle));
            if let Err(error) = boot_notes::save_end(system, &id, &end) {
                tracing::warn!("the end of {id} is noted nowhere: {error}");
            }
        }
        Err(obstacle)
    }

    fn overwrite(
        &mut self,
        system: &dyn SystemAccess,
        state: TransactionState,
        why: Option<&str>,
    ) -> io::Result<()> {
        let progress = self.progress_in(state, why);
        // As short as can be: it has to fit into the room of the old one.
        let bytes = serde_json::to_vec(&progress)?;
        durable::overwrite(system, &self.state_file(), &bytes)?;
        self.progress = progress;
        Ok(())
    }

    /// Until the guard acts; nothing where no guard waits.
    pub(super) fn seconds_left(&self, system: &dyn SystemAccess) -> Option<u32> {
        let waits = matches!(
            self.progress.state,
            TransactionState::Armed | TransactionState::Applied
        );
        if !waits || self.progress.boot != system.boot() {
            return None;
        }
        let now = u64::try_from(system.uptime().as_millis()).unwrap_or(u64::MAX);
        let gone = now.saturating_sub(self.progress.armed_ms) / 1000;
        Some(
            self.journal
                .guard_seconds
                .saturating_sub(u32::try_from(gone).unwrap_or(u32::MAX)),
        )
    }

    /// And the room that was reserved: nothing will be rolled back from there.
    pub(super) fn remove_program(folder: &Path) {
        for name in [PROGRAM, RESERVE] {
            let _ = durable::remove(&folder.join(name));
        }
    }

    pub(super) fn forget(&self) -> io::Result<()> {
        // The journal goes first: a folder without one is nothing.
        durable::remove_synced(&RealDisk, &self.folder.join(JOURNAL))?;
        fs::remove_dir_all(&self.folder)?;
        durable::sync_folder(durable::parent_folder(&self.folder))
    }
}

fn folders_with(state: &Path, name: &str) -> Result<Vec<PathBuf>, ChangeJournalError> {
    let entries = match fs::read_dir(state) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ChangeJournalError::at(state)(error)),
    };
    let folders: io::Result<Vec<PathBuf>> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect();
    let mut folders = folders.map_err(ChangeJournalError::at(state))?;
    folders.retain(|path| !path.ends_with(UNFINISHED_FOLDER) && may_exist(&path.join(name)));
    folders.sort();
    Ok(folders)
}

/// A disk that does not say is no reason to take a change for one that never was: whoever opens it is told why.
pub(super) fn may_exist(path: &Path) -> bool {
    !fs::metadata(path).is_err_and(|error| durable::is_absent(&error))
}

fn write_json(system: &dyn SystemAccess, path: &Path, value: &impl Serialize) -> io::Result<()> {
    AtomicWrite::new(path, 0o600).write_json(system, value)
}

/// The number of the format comes first: a journal of a newer build may have anything else in it.
fn read_journal(folder: &Path) -> Result<ChangeJournal, ChangeJournalError> {
    #[derive(Deserialize)]
    struct FormatOnly {
        format: u32,
    }
    let path = folder.join(JOURNAL);
    let at_path = ChangeJournalError::at(&path);
    let bytes = File::open(&path)
        .and_then(|file| durable::read_bounded(file, MAX_JOURNAL_BYTES))
        .map_err(&at_path)?;
    let other_build = |why: String| ChangeJournalError::OtherBuild {
        folder: folder.display().to_string(),
        why,
        program: folder.join(PROGRAM).display().to_string(),
    };
    let number = serde_json::from_slice::<FormatOnly>(&bytes);
    let format = number.map_err(|error| at_path(error.into()))?.format;
    if format != FORMAT {
        let why = format!("it has the format {format}, and this build knows {FORMAT}");
        return Err(other_build(why));
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        // What this very program wrote, it reads: somebody or a disk has changed it since.
        if is_own_program(&folder.join(PROGRAM)) {
            at_path(error.into())
        } else {
            other_build(error.to_string())
        }
    })
}

/// Only a rollback on a full disk writes over a state in its place, once it has given up the room that was reserved: one that
/// is torn then is of a rollback.
fn read_progress(folder: &Path) -> io::Result<TransactionProgress> {
    match durable::read_json(&folder.join(STATE), MAX_JOURNAL_BYTES) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ) && !may_exist(&folder.join(RESERVE)) =>
        {
            Ok(TransactionProgress {
                state: TransactionState::RollingBack,
                boot: String::new(),
                armed_ms: 0,
                why: None,
                left: Vec::new(),
                unrestored: Vec::new(),
                unrestored_network: Vec::new(),
                kept_by_trial: Vec::new(),
                changed_by_trial: None,
            })
        }
        other => other,
    }
}
