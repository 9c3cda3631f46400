//! The machine itself: systemd, the network managers, the kernel.

mod guard;
mod network;
mod rehearsal;
mod runtime;
mod trial;
mod wait;

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crosstie_facts::Gap;
use crosstie_model::{Facts, Step, change::Ended, plan::Reread};
use rustix::time::{ClockId, clock_gettime};

use super::{
    error::{GuardError, ProgramError},
    journal::Before,
    store,
    system::System,
};
use crate::command::{self, Bounds};

pub(super) use guard::{start_at_deadline, start_now as start_guard};
pub(super) use network::is_managed as network_is_managed;
pub(super) use wait::wait_until;

/// A program of a manager on a slow machine. Under the guard's own time, so that a hang ends in the way back.
const PATIENCE: Duration = Duration::from_secs(60);
/// The running program, and where the agents of root are, which nobody writes to once they have their names.
const OWN: &str = "/proc/self/exe";
const INSTALLED: &str = "/var/lib/crosstie/bin";
const INSTALL: Duration = Duration::from_secs(600);
const LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Machine;

impl System for Machine {
    fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(path)
    }

    fn boot(&self) -> String {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        id.unwrap_or_default().trim().to_owned()
    }

    fn uptime(&self) -> Duration {
        let time = clock_gettime(ClockId::Boottime);
        Duration::new(
            u64::try_from(time.tv_sec).unwrap_or(0),
            u32::try_from(time.tv_nsec).unwrap_or(0),
        )
    }

    fn now(&self) -> String {
        crate::collect::now()
    }

    fn facts(&self) -> Facts {
        crosstie_facts::facts(&crate::collect())
    }

    fn store_program(&self, path: &Path) -> Result<(), String> {
        store_program(path).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn arm(&self, transaction: &str, program: &Path, guard: Duration) -> Result<(), GuardError> {
        guard::arm(self, transaction, program, guard)
    }

    fn guard_waits(&self) -> bool {
        guard::waits()
    }

    fn disarm(&self) -> Result<(), GuardError> {
        guard::disarm(self)
    }

    fn go_back_now(&self, transaction: &str) -> Result<(), String> {
        guard::go_back_now(transaction)
    }

    fn set(&self, step: &Step) -> Result<(), String> {
        runtime::set(step)
    }

    fn reread(&self, then: &[Reread]) -> Result<(), String> {
        network::reread(then)
    }

    fn render_at_boot(&self) -> Result<(), String> {
        network::render_at_boot()
    }

    fn before(&self, now: &Facts, interfaces: &[String]) -> Before {
        runtime::before(now, interfaces)
    }

    fn before_all(&self) -> Before {
        let facts = self.facts();
        let interfaces = facts.network.interfaces.iter();
        let names = interfaces.map(|found| found.name.clone());
        let names: Vec<String> = names.filter(|name| name != "lo").collect();
        Before {
            routes: Some(network::routes()),
            ..runtime::before(&facts, &names)
        }
    }

    fn run_trial(&self, command: &[String], deadline: Duration) -> Result<Ended, String> {
        trial::run(command, deadline)
    }

    fn reread_all(&self) -> Result<(), String> {
        network::reread_all()
    }

    fn put_back(&self, before: &Before) -> Result<(), String> {
        with_another_look(|| {
            runtime::put_back(&self.facts(), before)?;
            match &before.routes {
                Some(routes) => network::put_routes_back(routes),
                None => Ok(()),
            }
        })
    }

    fn edge(&self, name: &'static str) {
        rehearsal::pass(name);
    }
}

/// A network manager moves at the same time, and may have deleted what was seen a moment ago. What failed has failed only if it
/// is still to do.
fn with_another_look(work: impl Fn() -> Result<(), String>) -> Result<(), String> {
    for _ in 1..LOOKS {
        if work().is_ok() {
            return Ok(());
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    work()
}

/// The running program, also when its file has been replaced since. A later boot has only this.
fn store_program(path: &Path) -> io::Result<()> {
    let own = fs::read_link(OWN)?;
    let linked = own.starts_with(INSTALLED) && fs::hard_link(&own, path).is_ok();
    if !linked {
        copy_program(path)?;
    }
    // It may have come over the network a moment ago.
    File::open(path)?.sync_all()?;
    store::sync(store::folder(path))
}

fn copy_program(path: &Path) -> io::Result<()> {
    let mut own = File::open(OWN)?;
    let mut options = File::options();
    let mut copy = options
        .write(true)
        .create_new(true)
        .mode(0o700)
        .open(path)?;
    io::copy(&mut own, &mut copy).map(drop)
}

/// A program of the system, with everything that it said where it failed.
fn run(program: &str, arguments: &[&str]) -> Result<String, ProgramError> {
    run_within(program, arguments, PATIENCE)
}

fn run_within(
    program: &str,
    arguments: &[&str],
    deadline: Duration,
) -> Result<String, ProgramError> {
    let bounds = Bounds {
        deadline,
        ..Bounds::default()
    };
    let gap = match command::run(program, arguments, bounds) {
        Ok(output) => return Ok(String::from_utf8_lossy(&output).into_owned()),
        Err(gap) => gap,
    };
    let command = format!("{program} {}", arguments.join(" "));
    Err(match gap {
        Gap::Absent => ProgramError::Missing {
            program: program.to_owned(),
        },
        Gap::Denied => ProgramError::Denied { command },
        Gap::TooLarge => ProgramError::TooLarge { command },
        Gap::Failed(complaint) => ProgramError::Failed { command, complaint },
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::with_another_look;

    #[test]
    fn what_is_gone_at_the_next_look_has_not_failed() {
        let looks = Cell::new(0);
        let gone_after = |needed: u32| {
            looks.set(0);
            with_another_look(|| {
                looks.set(looks.get() + 1);
                if looks.get() < needed {
                    return Err("Cannot assign requested address".to_owned());
                }
                Ok(())
            })
        };
        assert!(gone_after(2).is_ok());
        assert_eq!(looks.get(), 2);
        assert!(gone_after(9).is_err());
    }
}
