//! The guard: a service that waits for as long as the machine runs, a unit for its next boot. Both are files, so that neither a
//! dead controller nor a power cut takes them away, and both are gone when nothing is left to guard.
//!
//! The waiting is a program's, not a timer's: systemd counts a timer by `CLOCK_MONOTONIC`, which stands while a machine
//! sleeps, from a boot that in a container is another one than the kernel's, and anew whenever it reads its units again.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_durable::{self as durable, FileOperations};
use crosstie_facts::ReadGap;
use crosstie_model::change::TransactionState;

use super::{NodeSystem, wait};
use crate::program::{run, run_within};
use crosstie_node::command::{self, CommandLimits};

use crate::{
    CHANGES_FOLDER, boot_notes,
    error::{ExternalProgramError, GuardRunError, GuardSetupError},
    journal::{StoredTransaction, may_exist},
    renderer,
    system_access::SystemAccess,
};

const SYSTEMD_FOLDER: &str = "/run/systemd/system";
const UNITS: &str = "/etc/systemd/system";
const WAIT_UNIT: &str = "crosstie-guard-wait.service";
const ROLLBACK_UNIT: &str = "crosstie-guard.service";
const DESCRIPTION: &str = "Description=Rolls back change ";
const BOOT_UNIT: &str = "crosstie-recover.service";

/// For the rollback's service, from systemd, on a slow machine whose managers are waited for. One that is cut off is started
/// again.
const ROLLBACK_START_TIMEOUT: Duration = Duration::from_secs(300);
const ROLLBACK_RESTART_INTERVAL: Duration = Duration::from_secs(5);
/// The same at boot, which it holds up: nobody's managers run yet, so there is less to do and to wait for.
const BOOT_START_TIMEOUT: Duration = Duration::from_secs(120);
const BOOT_RESTART_INTERVAL: Duration = Duration::from_secs(10);
/// The one that waits must be there at its moment, so it is started again at once.
const WAIT_RESTART_INTERVAL: Duration = Duration::from_secs(1);

/// For whoever has asked for a rollback and waits for the service. Less than what systemd gives it: it goes on when nobody
/// waits for it any more.
const ROLLBACK_WAIT_TIMEOUT: Duration = Duration::from_secs(180);
const _: () = assert!(ROLLBACK_WAIT_TIMEOUT.as_secs() < ROLLBACK_START_TIMEOUT.as_secs());
/// For the one who waits to be gone. A signal ends it at once, so this is a slow systemd's.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// For systemd to read its units again, some thousands of which there may be.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(30);
/// For systemd to take an order that it does not wait for.
const ORDER_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn arm(
    machine: &NodeSystem,
    transaction: &str,
    program: &Path,
    guard: Duration,
) -> Result<(), GuardSetupError> {
    let program = program.display();
    let until = machine.uptime() + guard;
    let wait = format!(
        "[Unit]\nDescription=Rolls back change {transaction} unless it is confirmed\nStartLimitIntervalSec=0\n\n[Service]\n\
         Type=notify\nExecStart={program} guard {transaction} --wait-until {}\nRestart=on-failure\nRestartSec={}\n\
         OOMScoreAdjust=-1000\n",
        until.as_millis(),
        WAIT_RESTART_INTERVAL.as_secs()
    );
    let service = format!(
        "[Unit]\n{DESCRIPTION}{transaction}\nStartLimitIntervalSec=0\n\n[Service]\nType=oneshot\n\
         ExecStart={program} guard {transaction}\nTimeoutStartSec={}\nRestart=on-failure\nRestartSec={}\n",
        ROLLBACK_START_TIMEOUT.as_secs(),
        ROLLBACK_RESTART_INTERVAL.as_secs()
    );
    // Whoever reads what is restored must wait for it.
    let readers = renderer::units().join(" ");
    // The root may be read-only until it is mounted anew.
    let boot = format!(
        "[Unit]\nDescription=Rolls back change {transaction}, which the machine was switched off in\n\
         DefaultDependencies=no\nRequiresMountsFor={CHANGES_FOLDER}\nAfter=systemd-remount-fs.service\n\
         Before=network-pre.target {readers} systemd-sysctl.service systemd-modules-load.service sysinit.target \
         shutdown.target\n\
         Conflicts=shutdown.target\n\n[Service]\nType=oneshot\nExecStart={program} guard --boot {transaction}\n\
         TimeoutStartSec={}\nRestart=on-failure\nRestartSec={}\n",
        BOOT_START_TIMEOUT.as_secs(),
        BOOT_RESTART_INTERVAL.as_secs()
    );
    // The boot unit comes first: from then on, what is cut off here is cleared away by a boot.
    write_unit(machine, BOOT_UNIT, &boot)?;
    enable(machine, BOOT_UNIT, "sysinit.target.wants")?;
    write_unit(machine, ROLLBACK_UNIT, &service)?;
    write_unit(machine, WAIT_UNIT, &wait)?;
    machine.edge("the guard's units are written");
    run("systemctl", &["daemon-reload"])?;
    // It returns once the program says that it waits.
    run("systemctl", &["restart", WAIT_UNIT])?;
    check(until)
}

/// By the unit that rolls it back.
pub(super) fn transaction() -> Option<String> {
    let unit = fs::read_to_string(Path::new(UNITS).join(ROLLBACK_UNIT)).ok()?;
    let mut lines = unit.lines();
    lines.find_map(|line| line.strip_prefix(DESCRIPTION).map(str::to_owned))
}

/// What systemd really runs, and until when it says that it waits.
fn check(until: Duration) -> Result<(), GuardSetupError> {
    let shown = run(
        "systemctl",
        &["show", "--property=ActiveState,StatusText", WAIT_UNIT],
    )?;
    let has = |line: String| shown.lines().any(|found| found == line);
    let counts =
        has("ActiveState=active".to_owned()) && has(format!("StatusText={}", wait::status(until)));
    if counts {
        Ok(())
    } else {
        Err(GuardSetupError::NotCounting {
            wanted: until,
            found: shown.trim().replace('\n', ", "),
        })
    }
}

fn write_unit(machine: &NodeSystem, name: &str, text: &str) -> Result<(), GuardSetupError> {
    let path = Path::new(UNITS).join(name);
    durable::write(machine, &path, text.as_bytes(), 0o644).map_err(unit(&path))
}

fn unit(path: &Path) -> impl FnOnce(std::io::Error) -> GuardSetupError {
    let path = path.display().to_string();
    move |source| GuardSetupError::Unit { path, source }
}

fn enable(machine: &NodeSystem, name: &str, wants: &str) -> Result<(), GuardSetupError> {
    let link = wanted(name, wants);
    let made = durable::make_folder(machine, durable::parent_folder(&link), 0o755)
        .and_then(|()| durable::symlink(machine, &Path::new(UNITS).join(name), &link, |_| Ok(())));
    made.map_err(unit(&link))
}

fn wanted(name: &str, wants: &str) -> PathBuf {
    Path::new(UNITS).join(wants).join(name)
}

/// `None` where that is not certain: a program that was killed or could not be run says nothing, and neither does a systemd
/// that does not answer. Where there is none (`sd_booted(3)`) there is nobody to ask, and nobody who waits.
pub(super) fn is_waiting() -> Option<bool> {
    if !Path::new(SYSTEMD_FOLDER).is_dir() {
        return Some(false);
    }
    let asked = command::run_to_end(
        "systemctl",
        &["is-active", WAIT_UNIT],
        &[],
        CommandLimits::default(),
    );
    match asked {
        Ok(asked) => waits_in(String::from_utf8_lossy(&asked.output).trim()),
        Err(gap) => (gap == ReadGap::Absent).then_some(false),
    }
}

/// In a state that `systemctl is-active` prints. One who is being started or stopped may wait or be gone in a moment.
fn waits_in(state: &str) -> Option<bool> {
    match state {
        "active" => Some(true),
        "inactive" | "failed" | "unknown" => Some(false),
        _ => None,
    }
}

/// Nobody waits any more when this returns, whether its unit's file is still there or not. Where that is not certain, as in
/// a session that is being ended, the units stay, and with them whoever comes to remove them.
fn stop_waiting_unit() -> Result<(), GuardSetupError> {
    match run_within("systemctl", &["stop", WAIT_UNIT], STOP_TIMEOUT) {
        Err(error) if is_waiting() != Some(false) => Err(error.into()),
        _ => Ok(()),
    }
}

pub(super) fn disarm(machine: &NodeSystem) -> Result<(), GuardSetupError> {
    // It may be the guard itself that does this: the service that rolls back is not stopped.
    let there =
        [WAIT_UNIT, ROLLBACK_UNIT, BOOT_UNIT].map(|name| may_exist(&Path::new(UNITS).join(name)));
    stop_waiting_unit()?;
    let mut paths = vec![wanted(BOOT_UNIT, "sysinit.target.wants")];
    // What a killed run has left.
    paths.push(durable::temporary_name(&Path::new(UNITS).join(WAIT_UNIT)));
    paths.push(durable::temporary_name(&paths[0]));
    paths.extend([BOOT_UNIT, WAIT_UNIT, ROLLBACK_UNIT].map(|name| Path::new(UNITS).join(name)));
    for path in paths {
        durable::remove(&path).map_err(unit(&path))?;
        machine.edge("a unit of the guard is removed");
    }
    // Somebody else's links keep it.
    let _ = fs::remove_dir(Path::new(UNITS).join("sysinit.target.wants"));
    durable::sync_folder(Path::new(UNITS)).map_err(unit(Path::new(UNITS)))?;
    if there.contains(&true) {
        let _ = run_within("systemctl", &["daemon-reload"], RELOAD_TIMEOUT);
    }
    // systemd remembers units that failed, also those whose files are gone. It complains of those that it does not know.
    let failed = ["reset-failed", WAIT_UNIT, ROLLBACK_UNIT, BOOT_UNIT];
    let _ = run_within("systemctl", &failed, ORDER_TIMEOUT);
    Ok(())
}

/// By systemd, so that it goes on when this process and its connection are gone. Returns what could not be restored.
pub(super) fn rollback_now(
    machine: &NodeSystem,
    transaction: &str,
) -> Result<Vec<String>, GuardRunError> {
    let folder = Path::new(CHANGES_FOLDER).join(transaction);
    let start = || {
        run_within(
            "systemctl",
            &["start", ROLLBACK_UNIT],
            ROLLBACK_WAIT_TIMEOUT,
        )
    };
    let mut started = start();
    let mut found = StoredTransaction::open(&folder)?;
    let mut end = boot_notes::end(machine, transaction);
    // The guard of an earlier change may still have been at work: systemd has waited for that one, and started none.
    if started.is_ok() && found.progress.state.is_open() && end.is_none() {
        started = start();
        found = StoredTransaction::open(&folder)?;
        end = boot_notes::end(machine, transaction);
    }
    match (found.progress.state, end) {
        (TransactionState::RolledBack, _) => Ok(found.progress.leftovers()),
        (_, Some(end)) => Err(GuardRunError::Unfinished {
            left: end.leftovers(),
        }),
        (state, None) => {
            let found = format!("the change is {state:?}");
            let left = started.err().map_or(found, |error| error.to_string());
            Err(GuardRunError::Unfinished { left: vec![left] })
        }
    }
}

/// At the end of its wait. By systemd, as `rollback_now`; the caller does it itself where systemd does not.
pub(crate) fn start_rollback_unit() -> Result<(), ExternalProgramError> {
    run_within(
        "systemctl",
        &["start", "--no-block", ROLLBACK_UNIT],
        ORDER_TIMEOUT,
    )
    .map(drop)
}

/// Without waiting for it. Where its file is gone it has been disarmed, and systemd may not have noticed yet.
pub(crate) fn start_without_waiting() {
    if !may_exist(&Path::new(UNITS).join(ROLLBACK_UNIT)) {
        return;
    }
    let started = run_within(
        "systemctl",
        &["start", "--no-block", ROLLBACK_UNIT],
        ORDER_TIMEOUT,
    );
    // After a confirmation there is no such unit any more.
    if let Err(why) = started {
        tracing::debug!("no guard to start: {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever arms a guard arms another then, and whoever removes one does not take it for gone.
    #[test]
    fn one_who_is_being_started_or_stopped_neither_waits_nor_is_gone() {
        assert_eq!(waits_in("active"), Some(true));
        for gone in ["inactive", "failed", "unknown"] {
            assert_eq!(waits_in(gone), Some(false), "{gone}");
        }
        for between in ["activating", "deactivating", "reloading", "maintenance", ""] {
            assert_eq!(waits_in(between), None, "{between}");
        }
    }
}
