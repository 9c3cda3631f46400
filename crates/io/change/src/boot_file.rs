//! The values of the boot file, set again.

use std::{
    collections::BTreeSet,
    fs::File,
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crosstie_durable::read_bounded;
use crosstie_model::{
    PlanStep,
    plan::{
        BootPortSettings, BootUnitSettings, CongestionNotification, DscpPriority, EcnPoint,
        InterfaceUp, PriorityFlowControl, PriorityTrust, RoceMode, TrafficClass, ValueChange,
    },
};
use crosstie_node::netlink::NetlinkError;

use crate::{
    error::StepError,
    step::{self, NodeRuntime},
};

const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// For drivers that are still busy with their ports. The boot unit gives us twice that.
const DRIVERS_START_TIMEOUT: Duration = Duration::from_secs(30);
/// For network managers to have seen every port after a boot.
const MANAGERS_START_TIMEOUT: Duration = Duration::from_secs(15);
/// A machine with hundreds of ports is far below.
const MAX_FILE_BYTES: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
#[error("cannot restore ports from {}", path.display())]
pub struct BootFileError {
    path: PathBuf,
    source: io::Error,
}

/// Brings the ports to what the boot file says. What is not there yet is waited for, and one that fails keeps nothing else
/// from being set. Returns what was not set.
pub fn restore(file: &Path) -> Result<Vec<StepError>, BootFileError> {
    let boot = read(file).map_err(|source| BootFileError {
        path: file.to_owned(),
        source,
    })?;
    let failed = set_all(&mut NodeRuntime::machine(), &boot, DRIVERS_START_TIMEOUT);
    hold_ports_down(&boot, MANAGERS_START_TIMEOUT);
    Ok(failed)
}

fn read(file: &Path) -> io::Result<BootUnitSettings> {
    let bytes = read_bounded(File::open(file)?, MAX_FILE_BYTES)?;
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    BootUnitSettings::from_toml(&text).map_err(io::Error::other)
}

/// Sets the ports that are to stay down to it again and again: managers bring up what they find while they start.
fn hold_ports_down(boot: &BootUnitSettings, time: Duration) {
    let until = Instant::now() + time;
    let mut node = NodeRuntime::machine();
    let mut steps: Vec<PlanStep> = down(boot).collect();
    while !steps.is_empty() && Instant::now() < until {
        steps.retain(|step| {
            if Instant::now() >= until {
                return false;
            }
            // One that is not there cannot be up, and may come.
            let set = step::apply(step, &mut node);
            !matches!(set, Err(StepError::Name { .. }))
        });
        thread::sleep(RETRY_INTERVAL);
    }
}

fn set_all(node: &mut NodeRuntime, boot: &BootUnitSettings, limit: Duration) -> Vec<StepError> {
    let until = Instant::now() + limit;
    let mut failed = Vec::new();
    let mut waiting = Vec::new();
    for step in steps(boot) {
        match step {
            Ok(step) => waiting.push(WaitingStep { step, why: None }),
            Err(error) => failed.push(error),
        }
    }
    loop {
        waiting = set_each(node, waiting, &mut failed);
        if waiting.is_empty() {
            return failed;
        }
        if Instant::now() >= until {
            failed.extend(waiting.into_iter().filter_map(|step| step.why));
            return failed;
        }
        thread::sleep(RETRY_INTERVAL);
    }
}

struct WaitingStep {
    step: PlanStep,
    /// What the last try came to; `None` of one that was not tried, since its port gave no answer to another.
    why: Option<StepError>,
}

/// Those that may work later come back. A port that gives no answer is asked once: the others must not wait for it.
fn set_each(
    node: &mut NodeRuntime,
    steps: Vec<WaitingStep>,
    failed: &mut Vec<StepError>,
) -> Vec<WaitingStep> {
    let mut waiting = Vec::new();
    let mut silent = BTreeSet::new();
    for WaitingStep { step, why } in steps {
        let ports = step.interfaces();
        if ports.iter().any(|port| silent.contains(*port)) {
            waiting.push(WaitingStep { step, why });
            continue;
        }
        match step::apply(&step, node) {
            Ok(()) => {}
            Err(error) if error.may_pass() => {
                if is_silence(&error) {
                    silent.extend(ports.into_iter().map(str::to_owned));
                }
                let why = Some(error);
                waiting.push(WaitingStep { step, why });
            }
            Err(error) => failed.push(error),
        }
    }
    waiting
}

fn is_silence(error: &StepError) -> bool {
    let StepError::Kernel { source, .. } = error else {
        return false;
    };
    matches!(source, NetlinkError::Silent(_))
}

/// In the order of a plan.
fn steps(boot: &BootUnitSettings) -> Vec<Result<PlanStep, StepError>> {
    let ports = boot.ports.iter().flat_map(port_steps);
    ports.chain(down(boot).map(Ok)).collect()
}

fn down(boot: &BootUnitSettings) -> impl Iterator<Item = PlanStep> {
    boot.down.iter().map(|interface| {
        PlanStep::from(InterfaceUp {
            interface: interface.clone(),
            up: to_value(&false),
        })
    })
}

fn port_steps(port: &BootPortSettings) -> Vec<Result<PlanStep, StepError>> {
    let BootPortSettings {
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
        steps.push(Ok(PlanStep::from(PriorityFlowControl {
            interface: interface(),
            priorities: to_value(priorities),
        })));
    }
    if let Some(trust) = trust {
        steps.push(Ok(PlanStep::from(PriorityTrust {
            interface: interface(),
            trust: to_value(trust),
        })));
    }
    for (dscp, priority) in dscp.iter().flatten() {
        let dscp = dscp.parse().map_err(|_| StepError::Value {
            what: "a DSCP",
            of: interface(),
            value: dscp.clone(),
        });
        steps.push(dscp.map(|dscp| {
            PlanStep::from(DscpPriority {
                interface: interface(),
                dscp,
                priority: to_value(&Some(*priority)),
            })
        }));
    }
    for priority in ecn.iter().flatten() {
        for point in [EcnPoint::Notification, EcnPoint::Reaction] {
            steps.push(Ok(PlanStep::from(CongestionNotification {
                interface: interface(),
                point,
                priority: *priority,
                enabled: to_value(&true),
            })));
        }
    }
    if let Some(class) = traffic_class {
        steps.push(Ok(PlanStep::from(TrafficClass {
            device: device(),
            port,
            class: to_value(class),
        })));
    }
    if let Some(mode) = roce_mode {
        steps.push(Ok(PlanStep::from(RoceMode {
            device: device(),
            port,
            mode: to_value(mode),
        })));
    }
    steps
}

/// Whatever it was before.
fn to_value<T: Clone>(value: &T) -> ValueChange<T> {
    ValueChange {
        from: value.clone(),
        to: value.clone(),
    }
}

#[cfg(test)]
mod tests;
