//! What a job would meet on this node, before anything is started.

use std::{
    fs,
    io::Read,
    net::{IpAddr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_launch::job_protocol::{JobCallError, JobCheckReply, JobCheckRequest};
use crosstie_node::{
    LocalFileTree,
    command::{CommandLimits, run_with_environment},
    host::memory_limits,
};
use rustix::fs::{Access, access};

use crate::{
    folder::{self, JobOwner, SystemdManager, is_root},
    unit, weights,
};

const FOLDERS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];
/// A program that loads GPU libraries first takes its time.
const ASK_TIMEOUT: Duration = Duration::from_secs(20);
/// Of a line that calls itself a version.
const MAX_VERSION: usize = 120;
const MAX_FREE_PORTS: u32 = 16;
/// Prints the version of a Python package without importing it, which would take seconds.
const TORCH_VERSION: &str =
    "from importlib.metadata import version; print('torch', version('torch'))";

pub(crate) fn check(ask: &JobCheckRequest) -> Result<JobCheckReply, JobCallError> {
    let owner = JobOwner::find()?;
    let manager = folder::manager();
    let directory = owner
        .home
        .join(ask.directory.as_deref().unwrap_or_default());
    let program = find(&ask.program, &owner, &directory);
    let version = program
        .as_deref()
        .and_then(|program| version(&owner, program));
    let options = program
        .as_deref()
        .map_or_else(Vec::new, |program| options(&owner, program, &ask.options));
    let files = ask.files.iter();
    Ok(JobCheckReply {
        user: owner.name.clone(),
        is_root: is_root(),
        version,
        options,
        files: files
            .map(|file| weights::check_file(file, &directory))
            .collect(),
        taken: addresses_in_use(&ask.listens),
        free_ports: ask.free_ports.map_or_else(Vec::new, free_ports),
        memory: memory_limits(&LocalFileTree::machine()).free,
        memlock: memlock(manager, &owner),
        no_units: no_units(manager, &owner),
        program: program.map(|path| path.display().to_string()),
        directory: directory.is_dir().then(|| directory.display().to_string()),
    })
}

fn find(program: &str, owner: &JobOwner, directory: &Path) -> Option<PathBuf> {
    let usable = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if program.contains('/') {
        return Some(directory.join(program)).filter(usable);
    }
    let local = owner.home.join(".local/bin");
    let folders = FOLDERS.iter().map(PathBuf::from).chain([local]);
    folders
        .map(|folder| folder.join(program))
        .find(|path| usable(path))
}

/// As the owner, whoever this is: root runs nobody's files.
fn run_version_and_help(owner: &JobOwner, program: &Path, arguments: &[&str]) -> Option<String> {
    let bounds = CommandLimits {
        deadline: ASK_TIMEOUT,
        output: 1 << 20,
    };
    let program = program.to_str()?;
    let home = owner.home.display().to_string();
    let environment = [("HOME", home.as_str())];
    let output = if is_root() && owner.user != 0 {
        let (user, group) = (owner.user.to_string(), owner.group.to_string());
        let mut all = vec!["--reuid", &user, "--regid", &group, "--clear-groups", "--"];
        all.push(program);
        all.extend(arguments);
        run_with_environment("setpriv", &all, &environment, bounds)
    } else {
        let all = [&[program], arguments].concat();
        run_with_environment("env", &all, &environment, bounds)
    };
    let output = output.ok()?;
    Some(String::from_utf8_lossy(&output).into_owned())
}

fn version(owner: &JobOwner, program: &Path) -> Option<String> {
    let name = program.file_name()?.to_str()?;
    let said = match name {
        // It knows no question for its version.
        "ggml-rpc-server" => return None,
        "torchrun" => {
            let python = interpreter(program)?;
            run_version_and_help(owner, &python, &["-c", TORCH_VERSION])?
        }
        _ => run_version_and_help(owner, program, &["--version"])?,
    };
    let mut lines = said.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty())?;
    let plain = line.chars().filter(|c| !c.is_control());
    Some(plain.take(MAX_VERSION).collect())
}

/// The one that a script names on its first line.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    fs::File::open(script)
        .ok()?
        .take(512)
        .read_to_end(&mut start)
        .ok()?;
    let start = String::from_utf8_lossy(&start);
    let line = start.lines().next()?.strip_prefix("#!")?;
    let path = PathBuf::from(line.split_whitespace().next()?);
    path.is_absolute().then_some(path)
}

/// Those that its help names.
fn options(owner: &JobOwner, program: &Path, wanted: &[String]) -> Vec<String> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let help = run_version_and_help(owner, program, &["--help"]).unwrap_or_default();
    let separates = |c: char| c.is_whitespace() || c == ',';
    let words: Vec<&str> = help.split(separates).collect();
    let is_named = |option: &&String| words.contains(&option.as_str());
    wanted.iter().filter(is_named).cloned().collect()
}

/// Addresses that nothing new can listen at; also those that this node does not have.
fn addresses_in_use(listens: &[SocketAddr]) -> Vec<(SocketAddr, String)> {
    let tried = listens.iter().filter_map(|address| {
        let error = TcpListener::bind(address).err()?;
        Some((*address, error.to_string()))
    });
    tried.collect()
}

/// All of them held at once, so that no two are the same.
fn free_ports((address, count): (IpAddr, u32)) -> Vec<u16> {
    let held = (0..count.min(MAX_FREE_PORTS)).map(|_| TcpListener::bind((address, 0)));
    let held: Vec<TcpListener> = held.filter_map(Result::ok).collect();
    let ports = held.iter().filter_map(|held| held.local_addr().ok());
    ports.map(|address| address.port()).collect()
}

/// Process 1 may give any amount; a user's manager no more than it has itself.
fn memlock(manager: SystemdManager, owner: &JobOwner) -> Option<u64> {
    if manager == SystemdManager::System {
        return None;
    }
    let unit = format!("user@{}.service", owner.user);
    let arguments = ["show", "--value", "--property=LimitMEMLOCK", &unit];
    let deadline = Duration::from_secs(10);
    let shown = unit::systemd(
        SystemdManager::System,
        owner,
        "systemctl",
        &arguments,
        deadline,
    );
    // `infinity` is no number.
    shown.ok()?.trim().parse().ok()
}

fn no_units(manager: SystemdManager, owner: &JobOwner) -> Option<String> {
    let deadline = Duration::from_secs(10);
    let arguments = ["show", "--property=Version"];
    let shown = unit::systemd(manager, owner, "systemctl", &arguments, deadline);
    let gap = shown.err()?;
    Some(match manager {
        SystemdManager::System => format!("systemd does not answer: {gap}"),
        SystemdManager::User => format!("{} has no manager of systemd's: {gap}", owner.name),
    })
}
