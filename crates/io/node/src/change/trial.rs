//! A person's own command under the guard: what it does to files and to the network is undone unless it is confirmed.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use crosstie_model::change::{Armed, ChangeError, Changed, Kind, State, Trial};

use super::{
    files::missing_folders,
    image::{Contents, Image, look},
    journal::{FORMAT, Journal, Transaction},
    name,
    system::System,
    transaction::{armed, back, journal_error, lock, refuse_open},
    undo,
};

/// Where network managers and the kernel's settings are read from.
const USUAL: [&str; 9] = [
    "/etc/netplan",
    "/etc/NetworkManager/system-connections",
    "/etc/NetworkManager/conf.d",
    "/etc/systemd/network",
    "/etc/network/interfaces",
    "/etc/network/interfaces.d",
    "/etc/sysctl.d",
    "/etc/hosts",
    "/etc/nftables.conf",
];

/// A folder with more than this is not configuration.
const MOST_FILES: usize = 2000;

pub(super) fn run(
    system: &dyn System,
    state: &Path,
    trial: &Trial,
) -> Result<Changed, ChangeError> {
    let lock = lock(state)?;
    refuse_open(system, state)?;
    undo::sweep(state, None).map_err(|why| journal_error("an old journal", why))?;
    let (journal, contents) = journal(system, state, trial)?;
    system.own(&journal.id);
    let transaction = Transaction::create(system, state, journal, &contents)
        .map_err(|why| journal_error("the journal", why))?;
    let mut transaction = armed(system, transaction)?;
    let limit = Duration::from_secs(trial.command_seconds.into());
    let ended = system.run_trial(&trial.command, limit).and_then(|ended| {
        transaction.enter(system, State::Applied, None)?;
        Ok(ended)
    });
    match ended {
        Ok(ended) => Ok(Changed::Armed(Armed {
            seconds_left: transaction.seconds_left(system).unwrap_or(0),
            transaction: transaction.journal.id,
            ended: Some(ended),
        })),
        Err(why) => {
            let step = "running the command".to_owned();
            Err(back(system, lock, &transaction.journal.id, step, why))
        }
    }
}

fn journal(
    system: &dyn System,
    state: &Path,
    trial: &Trial,
) -> Result<(Journal, Contents), ChangeError> {
    let named = trial.files.iter().map(String::as_str);
    let roots: BTreeSet<&str> = USUAL.into_iter().chain(named).collect();
    let mut watched = Vec::new();
    let mut paths = BTreeSet::new();
    for root in roots {
        if !Path::new(root).is_absolute() || root.contains("/..") {
            return Err(journal_error(root, "it is no absolute path".to_owned()));
        }
        if system.path(root).is_dir() {
            watched.push(root.to_owned());
            paths.extend(files_in(system, root));
        } else {
            paths.insert(root.to_owned());
        }
    }
    if paths.len() > MOST_FILES {
        let why = format!("{} files are too many", paths.len());
        return Err(journal_error("the journal", why));
    }
    let mut images = Vec::new();
    let mut contents = Vec::new();
    let mut folders = Vec::new();
    for path in paths {
        let found = look(&system.path(&path));
        let found = found.map_err(|error| journal_error(&path, error.to_string()))?;
        images.push(Image::new(&path, found.as_ref()));
        contents.push(found.map(|found| found.bytes));
        missing_folders(system, &path, &mut folders);
    }
    let (before, obstacles) = system.before_all();
    if !obstacles.is_empty() && !trial.force {
        return Err(ChangeError::Irreversible {
            what: obstacles.join("; "),
        });
    }
    let journal = Journal {
        format: FORMAT,
        id: name(system, state),
        run: Some(trial.run.clone()),
        kind: Kind::Try,
        what: trial.command.join(" ").chars().take(200).collect(),
        began: system.now(),
        boot: system.boot(),
        guard_seconds: trial.guard_seconds,
        steps: Vec::new(),
        images,
        folders,
        watched,
        boot_program: None,
        before,
    };
    Ok((journal, contents))
}

/// Plain files and links directly in a folder, as the node names them.
pub(super) fn files_in(system: &dyn System, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(system.path(folder)).into_iter().flatten();
    let files = entries.flatten().filter(|entry| {
        let kind = entry.file_type();
        kind.is_ok_and(|kind| kind.is_file() || kind.is_symlink())
    });
    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .take(MOST_FILES)
        .map(|name| format!("{}/{name}", folder.trim_end_matches('/')))
        .collect()
}
