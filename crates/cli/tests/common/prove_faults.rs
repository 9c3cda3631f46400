//! Faults of a lab that a proof has to name.

use std::{fs, path::PathBuf};

use crosstie_lab::{
    Lab,
    hub::{CableFault, FaultDirection},
};
use serde_json::Value;

use super::{
    lab::sh,
    proofs::{RATE_MEGABITS, keep_run, limit, prove, prove_while, told},
    ups::Proven,
};

/// Steps of a run before something happens to a node.
const STEPS_BEFORE: usize = 3;

/// What is done to two Sparks on a cable of a declared rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Injected {
    Nothing,
    Cut,
    LossOneWay,
    SlowCable,
    CpuQuota,
    SmallMtu,
    ArpFlux,
    Killed,
    Paused,
}

/// Where, and how much.
#[derive(Debug, Clone, Copy)]
pub struct Severity {
    pub node: &'static str,
    /// 0 to 99: how bad, within what still has to be found.
    pub much: u64,
}

impl Severity {
    pub const USUAL: Self = Self {
        node: "spark-a",
        much: 50,
    };
}

impl Injected {
    pub const FAULTS: [Self; 8] = [
        Self::Cut,
        Self::LossOneWay,
        Self::SlowCable,
        Self::CpuQuota,
        Self::SmallMtu,
        Self::ArpFlux,
        Self::Killed,
        Self::Paused,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Cut => "cable cut",
            Self::LossOneWay => "loss in one direction",
            Self::SlowCable => "slow cable",
            Self::CpuQuota => "node with a CPU quota",
            Self::SmallMtu => "MTU too small at one end",
            Self::ArpFlux => "ARP flux",
            Self::Killed => "node killed while it is measured",
            Self::Paused => "node paused while it is measured",
        }
    }

    /// The one root that says so. Of two nodes nobody can tell a slow one from its cable.
    pub fn root(self) -> Option<&'static str> {
        Some(match self {
            Self::Nothing => return None,
            Self::Cut => "cable-dead",
            Self::LossOneWay => "path-loses-packets",
            Self::SlowCable | Self::CpuQuota => "bandwidth-below-ceiling",
            Self::SmallMtu => "mtu-small",
            Self::ArpFlux => "arp-flux",
            Self::Killed => "node-off",
            Self::Paused => "node-slow",
        })
    }

    /// A quick proof with the fault in it; the fault is gone afterwards, but for what a snapshot restores.
    pub fn proven(self, proven: &Proven, severity: Severity) -> Value {
        let state = tempfile::tempdir().unwrap();
        let arguments = ["--quick", "--seconds", "1"];
        let whole = || told(&prove(proven, state.path(), &arguments));
        let during = |happens: &dyn Fn()| {
            let happens = |_| happens();
            told(&prove_while(
                proven,
                state.path(),
                &arguments,
                STEPS_BEFORE,
                happens,
            ))
        };
        let (lab, node) = (&proven.lab, severity.node);
        let port = format!("{node}:p0");
        match self {
            Self::Nothing => whole(),
            Self::Cut => {
                lab.fault(&port, CableFault::Cut).unwrap();
                whole()
            }
            Self::LossOneWay => {
                lab.fault_one_way(
                    &port,
                    CableFault::Loss(share_lost(severity)),
                    FaultDirection::Sent,
                )
                .unwrap();
                let found = whole();
                keep_run(state.path(), "loss-one-way");
                found
            }
            Self::SlowCable => {
                limit(
                    lab,
                    node,
                    RATE_MEGABITS * (30 + severity.much * 3 / 10) / 100,
                );
                let found = whole();
                keep_run(state.path(), "slow-cable");
                found
            }
            Self::CpuQuota => {
                // With less than a tenth a node is not read within a minute, and that is what is told.
                let _quota = CpuQuota::new(lab, node, 10 + severity.much / 25);
                let found = whole();
                keep_run(state.path(), "cpu-quota");
                found
            }
            Self::SmallMtu => {
                sh(lab, node, "ip link set enp1s0f0np0 mtu 1500");
                whole()
            }
            Self::ArpFlux => {
                let sysctl =
                    "for file in /proc/sys/net/ipv4/conf/*/arp_ignore; do echo 0 >$file; done";
                sh(lab, node, sysctl);
                whole()
            }
            Self::Killed => during(&|| lab.kill(node).unwrap()),
            Self::Paused => {
                let found = during(&|| lab.pause(node).unwrap());
                lab.resume(node).unwrap();
                found
            }
        }
    }
}

/// Between 2 and 5 %.
#[allow(clippy::cast_precision_loss)] // below 100
pub fn share_lost(severity: Severity) -> f64 {
    0.02 + 0.03 * severity.much as f64 / 100.0
}

/// A machine with so many percent of one processor, until dropped; by a control group of its own.
struct CpuQuota {
    group: PathBuf,
    pid: String,
}

const PERIOD_MICROSECONDS: u64 = 100_000;

impl CpuQuota {
    fn new(lab: &Lab, node: &str, percent: u64) -> Self {
        let record = fs::read(lab.directory().join(format!("{node}.pid"))).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        let pid = record["pid"].to_string();
        let microseconds = PERIOD_MICROSECONDS * percent / 100;
        let group = |hierarchy: &str| PathBuf::from(hierarchy).join(format!("crosstie-test-{pid}"));
        // The first is of older kernels, or of machines that keep both.
        let older = "/sys/fs/cgroup/cpu";
        let (group, file, quota) = if fs::exists(older).unwrap() {
            (group(older), "cpu.cfs_quota_us", microseconds.to_string())
        } else {
            let quota = format!("{microseconds} {PERIOD_MICROSECONDS}");
            (group("/sys/fs/cgroup"), "cpu.max", quota)
        };
        fs::create_dir(&group).unwrap();
        fs::write(group.join(file), quota).unwrap();
        fs::write(group.join("cgroup.procs"), &pid).unwrap();
        Self { group, pid }
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        let above = self.group.parent().unwrap();
        // A machine that has ended is in no group.
        let _ = fs::write(above.join("cgroup.procs"), &self.pid);
        fs::remove_dir(&self.group).unwrap();
    }
}
