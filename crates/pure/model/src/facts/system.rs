//! The rest of the machine's state that decides whether RDMA works: limits, clock, containers, kernel log.

use serde::{Deserialize, Serialize};

use super::{
    TextReading,
    persistence::{LimitsConfLine, ProcessLimit},
};
use crate::Reading;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemFacts {
    /// Whether collection ran as root.
    pub root: Reading<bool>,
    pub locked_memory: ProcessLimit,
    /// Lines of limits.conf and limits.d about locked memory.
    pub limit_lines: Vec<LimitsConfLine>,
    pub clock_synchronised: Reading<bool>,
    /// Whether systemd has a time service running: `NTP` of `timedatectl show`.
    pub time_service_on: Reading<bool>,
    /// Whether one is installed that systemd could start: `CanNTP`.
    pub time_service_installed: Reading<bool>,
    /// The kind of container that collection ran in; absent on a machine of its own.
    pub container: TextReading,
    /// Allow-listed lines of the kernel log.
    pub kernel_log: Reading<Vec<KernelLogLine>>,
    /// The selected `pcie_aspm` policy.
    pub aspm_policy: TextReading,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLogLine {
    /// Microseconds since boot.
    pub at_us: Reading<u64>,
    pub text: String,
}
