//! The guard: a timer for as long as the machine runs, a unit for its next boot. Both are files, so that neither a dead
//! controller nor a power cut takes them away, and both are gone when nothing is left to guard.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_model::change::State;

use super::{Machine, run, run_within};
use crate::change::{STATE, journal::Transaction, store, system::System};

const UNITS: &str = "/etc/systemd/system";
const TIMER: &str = "crosstie-guard.timer";
const SERVICE: &str = "crosstie-guard.service";
const BOOT: &str = "crosstie-recover.service";

/// For the guard to undo everything on a slow machine.
const GO_BACK: Duration = Duration::from_secs(180);

pub(super) fn arm(
    machine: &Machine,
    transaction: &str,
    program: &Path,
    guard: Duration,
) -> Result<(), String> {
    let program = program.display();
    // Counted from the boot: one that counts from its own start begins anew whenever systemd reads its units again.
    let seconds = (machine.uptime() + guard).as_secs();
    let timer = format!(
        "[Unit]\nDescription=Goes back from change {transaction} unless it is confirmed\n\n[Timer]\nOnBootSec={seconds}s\n\
         AccuracySec=100ms\nUnit={SERVICE}\n"
    );
    let service = format!(
        "[Unit]\nDescription=Goes back from change {transaction}\nStartLimitIntervalSec=0\n\n[Service]\nType=oneshot\n\
         ExecStart={program} guard {transaction}\nTimeoutStartSec=300\nRestart=on-failure\nRestartSec=5s\n"
    );
    // The root may be read-only until it is mounted anew. Whoever reads what is put back must wait for it.
    let boot = format!(
        "[Unit]\nDescription=Goes back from change {transaction}, which the machine was switched off in\n\
         DefaultDependencies=no\nRequiresMountsFor={STATE}\nAfter=systemd-remount-fs.service\n\
         Before=network-pre.target systemd-networkd.service NetworkManager.service systemd-sysctl.service \
         systemd-modules-load.service netplan-configure.service sysinit.target shutdown.target\n\
         Conflicts=shutdown.target\n\n[Service]\nType=oneshot\nExecStart={program} guard --boot {transaction}\n\
         TimeoutStartSec=120\nRestart=on-failure\nRestartSec=10s\n"
    );
    // The boot unit comes first: from then on, what is cut off here is cleared away by a boot.
    write_unit(machine, BOOT, &boot)?;
    enable(BOOT, "sysinit.target.wants")?;
    write_unit(machine, SERVICE, &service)?;
    write_unit(machine, TIMER, &timer)?;
    enable(TIMER, "timers.target.wants")?;
    machine.edge("the guard's units are written");
    run("systemctl", &["daemon-reload"])?;
    run("systemctl", &["restart", TIMER])?;
    Ok(())
}

fn write_unit(machine: &Machine, name: &str, text: &str) -> Result<(), String> {
    let path = Path::new(UNITS).join(name);
    store::write(machine, &path, text.as_bytes(), 0o644)
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn enable(name: &str, wants: &str) -> Result<(), String> {
    let link = wanted(name, wants);
    let made = fs::create_dir_all(store::folder(&link))
        .and_then(|()| store::remove(&link).map(drop))
        .and_then(|()| symlink(Path::new(UNITS).join(name), &link))
        .and_then(|()| store::sync(store::folder(&link)));
    made.map_err(|error| format!("{}: {error}", link.display()))
}

fn wanted(name: &str, wants: &str) -> PathBuf {
    Path::new(UNITS).join(wants).join(name)
}

pub(super) fn waits() -> bool {
    run("systemctl", &["is-active", TIMER]).is_ok()
}

pub(super) fn disarm(machine: &Machine) -> Result<(), String> {
    // It may be the guard itself that does this: its own service is not stopped.
    let there = [TIMER, SERVICE, BOOT].map(|name| Path::new(UNITS).join(name).exists());
    if there[0] {
        // At early boot there is no bus yet, and no timer.
        let _ = run_within("systemctl", &["stop", TIMER], Duration::from_secs(20));
    }
    let mut paths = vec![
        wanted(BOOT, "sysinit.target.wants"),
        wanted(TIMER, "timers.target.wants"),
    ];
    // What a killed run has left.
    paths.push(store::half_made(&Path::new(UNITS).join(TIMER)));
    paths.extend([BOOT, TIMER, SERVICE].map(|name| Path::new(UNITS).join(name)));
    for path in paths {
        store::remove(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        machine.edge("a unit of the guard is removed");
    }
    for folder in ["sysinit.target.wants", "timers.target.wants"] {
        let folder = Path::new(UNITS).join(folder);
        // Somebody else's links keep it.
        let _ = fs::remove_dir(&folder);
    }
    store::sync(Path::new(UNITS)).map_err(|error| format!("{UNITS}: {error}"))?;
    if there.contains(&true) {
        let _ = run_within("systemctl", &["daemon-reload"], Duration::from_secs(30));
    }
    Ok(())
}

/// By systemd, so that it goes on when this process and its connection are gone.
pub(super) fn go_back_now(transaction: &str) -> Result<(), String> {
    let started = run_within("systemctl", &["start", SERVICE], GO_BACK);
    let found = Transaction::open(&Path::new(STATE).join(transaction))?;
    match found.progress.state {
        State::RolledBack => Ok(()),
        _ => Err(started
            .err()
            .unwrap_or_else(|| "the guard did not finish".to_owned())),
    }
}

/// Without waiting for it.
pub(in crate::change) fn start_now() {
    let started = run_within(
        "systemctl",
        &["start", "--no-block", SERVICE],
        Duration::from_secs(10),
    );
    // After a confirmation there is no such unit any more.
    if let Err(why) = started {
        tracing::debug!("no guard to start: {why}");
    }
}
