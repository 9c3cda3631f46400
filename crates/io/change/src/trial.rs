//! A person's own command under the guard: what it does to files and to the network is rolled back unless it is confirmed.

use std::{collections::BTreeSet, path::Path, time::Duration};

use crosstie_model::change::{
    ArmedChange, ChangeError, ChangeReply, TransactionKind, TransactionState, TryRequest,
};

use super::{
    drift::drift_records,
    error::told,
    file_image::{FileImage, ImageContents, PlannedContent, read_current},
    files::missing_folders,
    folder::{self, FolderContents, FolderImage},
    journal::{ChangeJournal, FORMAT, StoredTransaction, TrialChanges},
    new_transaction_id, renderer, rollback,
    system_access::SystemAccess,
    transaction::{all, lock, not_begun, roll_back, run_armed, settle_interrupted},
};

/// Where the kernel's settings and those of what lies beside network managers are read from.
const DEFAULT_WATCHED_FOLDERS: [&str; 9] = [
    "/etc/hosts",
    "/etc/network",
    "/etc/nftables.conf",
    "/etc/resolv.conf",
    "/etc/sysctl.conf",
    "/etc/sysctl.d",
    "/etc/systemd/resolved.conf",
    "/etc/systemd/resolved.conf.d",
    "/etc/udev/rules.d",
];

/// A folder with more than this is not configuration.
const MAX_FILES: usize = 2000;

pub(super) fn run(
    system: &dyn SystemAccess,
    state: &Path,
    trial: &TryRequest,
) -> Result<ChangeReply, ChangeError> {
    let lock = lock(state)?;
    settle_interrupted(system, state)?;
    rollback::remove_finished(state)
        .map_err(|error| not_begun("an old journal cannot be removed", told(&error)))?;
    let (journal, contents) = journal(system, state, trial)?;
    system.own(&journal.id);
    let transaction = StoredTransaction::create(system, state, journal, &contents)
        .map_err(|error| not_begun("the journal cannot be written", told(&error)))?;
    let mut transaction = run_armed(system, transaction)?;
    let limit = Duration::from_secs(trial.command_seconds.into());
    let ended = system.run_trial(&transaction.journal.id, &trial.command, limit);
    let ended = ended.and_then(|ended| {
        transaction.enter(system, TransactionState::Applied, None)?;
        Ok(ended)
    });
    match ended {
        Ok(ended) => Ok(ChangeReply::Armed(ArmedChange {
            seconds_left: transaction.seconds_left(system).unwrap_or(0),
            transaction: transaction.journal.id,
            ended: Some(ended),
        })),
        Err(error) => {
            let step = "running the command".to_owned();
            Err(roll_back(system, lock, transaction, step, &error))
        }
    }
}

/// Where `/etc/resolv.conf` often leads: its program writes it anew with every change of servers, and with every boot.
pub(super) fn is_resolver_output(path: &str) -> bool {
    path.starts_with("/run/") && path.ends_with("resolv.conf")
}

/// What it has done to files and folders until now.
pub(super) fn changes(system: &dyn SystemAccess, journal: &ChangeJournal) -> TrialChanges {
    let mut changes = TrialChanges::default();
    // What cannot be read is told when it is to be restored.
    let read = |path: &str| read_current(&system.path(path)).ok().flatten();
    // From now on the resolver's own file is its affair alone.
    let images = journal.images.iter();
    for image in images.filter(|image| !is_resolver_output(&image.path)) {
        let found = read(&image.path);
        if !image.matches_original(found.as_ref()) {
            let left = PlannedContent::of(found.as_ref());
            changes.files.insert(image.path.clone(), left);
        }
    }
    let tree = journal.tree.iter();
    for folder in tree.filter(|folder| !folder.is_as_it_was(system)) {
        changes.folders.insert(folder.path.clone());
        // Behind a link in its place, files look as they were.
        if !folder.is_there(system) {
            let below = journal.images.iter();
            let below = below.filter(|image| Path::new(&image.path).starts_with(&folder.path));
            let gone = below.map(|image| (image.path.clone(), PlannedContent::Gone));
            changes.files.extend(gone);
        }
    }
    let files: BTreeSet<&str> = journal.images.iter().map(|image| &*image.path).collect();
    let folders: BTreeSet<&str> = journal.tree.iter().map(|folder| &*folder.path).collect();
    for root in &journal.watched {
        let below = FolderContents::of(system, root, usize::MAX);
        let made = below.files.into_iter();
        for path in made.filter(|path| !files.contains(&**path)) {
            let left = PlannedContent::of(read(&path).as_ref());
            changes.files.insert(path, left);
        }
        let new = below.folders.into_iter();
        let made = new.filter(|path| !folders.contains(&**path));
        changes.folders.extend(made);
    }
    changes
}

fn journal(
    system: &dyn SystemAccess,
    state: &Path,
    trial: &TryRequest,
) -> Result<(ChangeJournal, ImageContents), ChangeError> {
    let named = trial.files.iter().map(String::as_str);
    let mut roots: BTreeSet<&str> = DEFAULT_WATCHED_FOLDERS.into_iter().chain(named).collect();
    for place in renderer::files() {
        roots.insert(place);
    }
    let mut watched = Vec::new();
    let mut paths = BTreeSet::new();
    let mut tree = BTreeSet::new();
    for root in roots {
        if !Path::new(root).is_absolute() || root.contains("/..") {
            return Err(not_begun(root, "it is no absolute path".to_owned()));
        }
        let place = system.path(root);
        let behind = place.is_symlink().then(|| folder::target(system, root));
        for root in [Some(root.to_owned()), behind.flatten()]
            .into_iter()
            .flatten()
        {
            let below = FolderContents::of(system, &root, MAX_FILES);
            if below.count() > MAX_FILES {
                let why = format!("it holds more than {MAX_FILES} files");
                return Err(not_begun(&root, why));
            }
            // What is new there goes, also where there was nothing.
            if below.files != [root.as_str()] {
                watched.push(root);
            }
            paths.extend(below.files);
            tree.extend(below.folders);
        }
    }
    let tree: Result<Vec<FolderImage>, ChangeError> = tree
        .iter()
        .map(|path| {
            let image = FolderImage::of(system, path);
            image.map_err(|error| not_begun(path, error.to_string()))
        })
        .collect();
    let mut images = Vec::new();
    let mut contents = Vec::new();
    let mut folders = Vec::new();
    for path in paths {
        let found = read_current(&system.path(&path));
        let found = found.map_err(|error| not_begun(&path, error.to_string()))?;
        images.push(FileImage::new(&path, found.as_ref()));
        contents.push(found.map(|found| found.bytes));
        missing_folders(system, &path, &mut folders);
    }
    let (before, obstacles) = system.full_runtime_snapshot();
    if !obstacles.is_empty() && !trial.force {
        return Err(ChangeError::Irreversible {
            what: obstacles.join("; "),
        });
    }
    let journal = ChangeJournal {
        format: FORMAT,
        id: new_transaction_id(system, state),
        run: Some(trial.run.clone()),
        kind: TransactionKind::Try,
        what: trial.command.join(" ").chars().take(200).collect(),
        began: system.now(),
        boot: system.boot(),
        guard_seconds: trial.guard_seconds,
        steps: Vec::new(),
        images,
        folders,
        watched,
        tree: tree?,
        boot_program: None,
        drift: drift_records(system, &all(state)?),
        before,
    };
    Ok((journal, contents))
}
