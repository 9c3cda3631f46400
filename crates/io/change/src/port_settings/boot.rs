//! The values of the boot file, set again.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crosstie_model::{
    Step,
    plan::{Boot, BootPort, Change, EcnPoint},
};

use super::{PortSettingsError, Ports};

const PAUSE: Duration = Duration::from_millis(250);

/// For drivers that are still busy with their ports. The boot unit gives us twice that.
const PATIENCE: Duration = Duration::from_secs(30);
/// For network managers to have seen every port after a boot.
const MANAGERS_START_TIMEOUT: Duration = Duration::from_secs(15);
/// A machine with hundreds of ports is far below.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
#[error("cannot restore ports from {}", path.display())]
pub struct BootFileError {
    path: PathBuf,
    source: io::Error,
}

/// Brings the ports to what the boot file says. What is not there yet is waited for, and one that fails keeps nothing else
/// from being set. What was not set comes back.
pub fn restore(file: &Path) -> Result<Vec<PortSettingsError>, BootFileError> {
    let boot = read(file).map_err(|source| BootFileError {
        path: file.to_owned(),
        source,
    })?;
    let failed = Ports::machine().restore(&boot, PATIENCE);
    keep_down(&boot, MANAGERS_START_TIMEOUT);
    Ok(failed)
}

fn read(file: &Path) -> io::Result<Boot> {
    let mut text = String::new();
    File::open(file)?
        .take(LONGEST + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        let text = format!("it is larger than {LONGEST} bytes");
        return Err(io::Error::other(text));
    }
    Boot::from_toml(&text).map_err(io::Error::other)
}

/// Takes the ports that are to stay down out of the hands of managers, which bring up what they find while they start.
fn keep_down(boot: &Boot, time: Duration) {
    let until = Instant::now() + time;
    let mut ports = Ports::machine();
    let mut steps: Vec<Step> = down(boot).collect();
    while !steps.is_empty() && Instant::now() < until {
        steps.retain(|step| {
            // One that is not there cannot be up, and may come.
            let set = ports.set(step);
            !matches!(set, Err(PortSettingsError::Name { .. }))
        });
        thread::sleep(PAUSE);
    }
}

impl Ports {
    pub(super) fn restore(&mut self, boot: &Boot, limit: Duration) -> Vec<PortSettingsError> {
        let until = Instant::now() + limit;
        let mut failed = Vec::new();
        let mut waiting = Vec::new();
        for step in steps(boot) {
            match step {
                Ok(step) => waiting.push(step),
                Err(error) => failed.push(error),
            }
        }
        loop {
            let last = Instant::now() >= until;
            waiting.retain(|step| match self.set(step) {
                Err(error) if error.may_pass() && !last => true,
                Err(error) => {
                    failed.push(error);
                    false
                }
                Ok(()) => false,
            });
            if waiting.is_empty() {
                return failed;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// In the order of a plan.
fn steps(boot: &Boot) -> Vec<Result<Step, PortSettingsError>> {
    let ports = boot.ports.iter().flat_map(port_steps);
    ports.chain(down(boot).map(Ok)).collect()
}

fn down(boot: &Boot) -> impl Iterator<Item = Step> {
    boot.down.iter().map(|interface| Step::Link {
        interface: interface.clone(),
        up: to(&false),
    })
}

fn port_steps(port: &BootPort) -> Vec<Result<Step, PortSettingsError>> {
    let BootPort {
        interface,
        device,
        port,
        pfc,
        trust,
        ecn,
        traffic_class,
        roce_mode,
        dscp,
    } = port;
    let (interface, device, port) = (|| interface.clone(), || device.clone(), *port);
    let mut steps = Vec::new();
    if let Some(priorities) = pfc {
        steps.push(Ok(Step::Pfc {
            interface: interface(),
            priorities: to(priorities),
        }));
    }
    if let Some(trust) = trust {
        steps.push(Ok(Step::Trust {
            interface: interface(),
            trust: to(trust),
        }));
    }
    for (dscp, priority) in dscp.iter().flatten() {
        let dscp = dscp.parse().map_err(|_| PortSettingsError::Value {
            what: "a DSCP",
            of: interface(),
            value: dscp.clone(),
        });
        steps.push(dscp.map(|dscp| Step::Dscp {
            interface: interface(),
            dscp,
            priority: to(&Some(*priority)),
        }));
    }
    for priority in ecn.iter().flatten() {
        for point in [EcnPoint::Notification, EcnPoint::Reaction] {
            steps.push(Ok(Step::Ecn {
                interface: interface(),
                point,
                priority: *priority,
                enabled: to(&true),
            }));
        }
    }
    if let Some(class) = traffic_class {
        steps.push(Ok(Step::TrafficClass {
            device: device(),
            port,
            class: to(class),
        }));
    }
    if let Some(mode) = roce_mode {
        steps.push(Ok(Step::RoceMode {
            device: device(),
            port,
            mode: to(mode),
        }));
    }
    steps
}

/// Whatever it was before.
fn to<T: Clone>(value: &T) -> Change<T> {
    Change {
        from: value.clone(),
        to: value.clone(),
    }
}
