//! systemd's units: started, shown and stopped.

use std::time::{Duration, Instant};

use crosstie_facts::ReadGap;
use crosstie_launch::job_protocol::JobCallError;
use crosstie_node::command::{CommandLimits, run_with_environment};
use rustix::process::{Pid, Signal, kill_process};

use crate::folder::{ENVIRONMENT, JobFolder, JobOwner, PROGRAM, SystemdManager, is_root};

/// For the engine to end by itself once it is asked; then it is killed.
const ENGINE_STOP_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = ENGINE_STOP_TIMEOUT.saturating_add(Duration::from_secs(25));
const START_TIMEOUT: Duration = Duration::from_secs(40);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What systemd says of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct UnitState {
    /// `active`, `inactive`, `failed`, …
    pub(crate) active: String,
    pub(crate) main_pid: u32,
}

/// One of systemd's programs, for the manager that is meant.
pub(crate) fn systemd(
    manager: SystemdManager,
    owner: &JobOwner,
    program: &str,
    arguments: &[&str],
    deadline: Duration,
) -> Result<String, ReadGap> {
    let bounds = CommandLimits {
        deadline,
        ..CommandLimits::default()
    };
    let runtime = owner.runtime();
    let environment = [("XDG_RUNTIME_DIR", runtime.as_str())];
    let output = match manager {
        SystemdManager::System => run_with_environment(program, arguments, &[], bounds),
        SystemdManager::User if is_root() && owner.user != 0 => {
            let (user, group) = (owner.user.to_string(), owner.group.to_string());
            let mut all = vec!["--reuid", &user, "--regid", &group, "--clear-groups", "--"];
            all.extend([program, "--user"]);
            all.extend(arguments);
            run_with_environment("setpriv", &all, &environment, bounds)
        }
        SystemdManager::User => {
            let all = [&["--user"], arguments].concat();
            run_with_environment(program, &all, &environment, bounds)
        }
    }?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

/// Returns once the unit's first process runs.
pub(crate) fn start(folder: &JobFolder, directory: &str) -> Result<(), JobCallError> {
    let unit = folder.unit();
    let path = folder.path.display().to_string();
    let is_special =
        |c: char| c.is_whitespace() || matches!(c, '$' | '%' | '\\' | '"' | '\'' | ';');
    if path.contains(is_special) {
        // systemd would read them as something else.
        return Err(JobCallError::Unit {
            unit,
            why: format!("the folder {path} has a character that units cannot hold"),
        });
    }
    let mut properties: Vec<String> = [
        "Type=exec".to_owned(),
        format!("EnvironmentFile={path}/{ENVIRONMENT}"),
        "LimitMEMLOCK=infinity".to_owned(),
        "KillMode=control-group".to_owned(),
        format!("TimeoutStopSec={}", ENGINE_STOP_TIMEOUT.as_secs()),
        "OOMPolicy=stop".to_owned(),
        format!("WorkingDirectory={directory}"),
        format!("SyslogIdentifier=crosstie-{}", folder.job),
        // A job of many files and connections.
        "LimitNOFILE=65536".to_owned(),
    ]
    .into();
    if folder.manager == SystemdManager::System && folder.owner.user != 0 {
        properties.push(format!("User={}", folder.owner.user));
        properties.push(format!("Group={}", folder.owner.group));
    }
    let properties = properties.iter().map(|text| format!("--property={text}"));
    let mut arguments = vec![
        format!("--unit={unit}"),
        "--collect".to_owned(),
        "--quiet".to_owned(),
        format!("--description=crosstie job {}", folder.job),
    ];
    arguments.extend(properties);
    arguments.extend(["--".to_owned(), format!("{path}/{PROGRAM}")]);
    arguments.extend(["rank".to_owned(), path]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let started = systemd(
        folder.manager,
        &folder.owner,
        "systemd-run",
        &arguments,
        START_TIMEOUT,
    );
    started.map(drop).map_err(|gap| JobCallError::Unit {
        unit,
        why: gap.to_string(),
    })
}

pub(crate) fn show(folder: &JobFolder) -> Result<UnitState, ReadGap> {
    let unit = folder.unit();
    let arguments = ["show", "--property=ActiveState,MainPID", &unit];
    let shown = systemd(
        folder.manager,
        &folder.owner,
        "systemctl",
        &arguments,
        Duration::from_secs(10),
    )?;
    let value = |name: &str| {
        let mut lines = shown.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
    };
    Ok(UnitState {
        active: value("ActiveState").unwrap_or_default().to_owned(),
        main_pid: value("MainPID")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
    })
}

impl UnitState {
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.active.as_str(), "inactive" | "failed" | "")
    }
}

/// Nothing of its control group runs when this returns well.
pub(crate) fn stop(folder: &JobFolder) -> Result<(), String> {
    let state = show(folder).map_err(|gap| gap.to_string())?;
    if state.is_over() {
        return Ok(());
    }
    let unit = folder.unit();
    let stopped = systemd(
        folder.manager,
        &folder.owner,
        "systemctl",
        &["stop", &unit],
        STOP_TIMEOUT,
    );
    if let Err(gap) = stopped {
        // The other ranks are stopped at the same time, and it ends with them: it may be gone before it is asked.
        if show(folder).is_ok_and(|state| state.is_over()) {
            return Ok(());
        }
        // A unit of the system's, and no root here: its first process is this user's, and systemd ends the rest with it.
        let first = i32::try_from(state.main_pid).ok().and_then(Pid::from_raw);
        let signalled = first.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
        if !signalled {
            return Err(gap.to_string());
        }
    }
    let until = Instant::now() + STOP_TIMEOUT;
    while Instant::now() < until {
        match show(folder) {
            Ok(state) if state.is_over() => return Ok(()),
            _ => std::thread::sleep(POLL_INTERVAL),
        }
    }
    Err(format!(
        "{unit} is still there after {} s",
        STOP_TIMEOUT.as_secs()
    ))
}
