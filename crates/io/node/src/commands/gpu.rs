//! GPUs: NVML in this process, else nvidia-smi.

use std::time::Duration;

use crosstie_facts::{FileTree, ReadGap, collect::gpu_xml};
use crosstie_gpu::NvmlError;

use super::Ready;
use crate::{
    LocalFileTree,
    command::{CommandLimits, run},
};

/// A driver that was idle wakes its GPUs first, a second or two each.
const GPU_READ_TIMEOUT: Duration = Duration::from_secs(8);

pub(super) fn ready(machine: &LocalFileTree) -> Ready {
    match (driver_is_loaded(machine), has_gpu(machine)) {
        (true, _) => Ready::Ask,
        (false, true) => Ready::Known(Err(ReadGap::Failed(
            "NVIDIA's driver is not loaded".to_owned(),
        ))),
        (false, false) => Ready::Known(Err(ReadGap::Absent)),
    }
}

pub(super) fn read() -> Result<Vec<u8>, ReadGap> {
    match crosstie_gpu::read(GPU_READ_TIMEOUT) {
        Ok(gpus) => Ok(gpu_xml(&gpus).into_bytes()),
        // nvidia-smi would hang just the same.
        Err(error @ NvmlError::Silent(_)) => Err(ReadGap::Failed(error.to_string())),
        Err(error) => {
            tracing::debug!(%error, "NVML does not answer, trying nvidia-smi");
            by_command()
        }
    }
}

fn by_command() -> Result<Vec<u8>, ReadGap> {
    let bounds = CommandLimits {
        deadline: GPU_READ_TIMEOUT,
        ..CommandLimits::default()
    };
    run("nvidia-smi", &["-q", "-x"], bounds)
}

/// NVIDIA's tools load the driver where it is not, and a scan changes nothing.
fn driver_is_loaded(machine: &LocalFileTree) -> bool {
    ["sys/bus/pci/drivers/nvidia", "proc/driver/nvidia"]
        .iter()
        .any(|path| machine.list(path).is_ok())
}

/// A PCI function of NVIDIA's that displays or computes.
fn has_gpu(machine: &LocalFileTree) -> bool {
    let devices = "sys/bus/pci/devices";
    let starts =
        |path: String, text: &[u8]| machine.read(&path).is_ok_and(|read| read.starts_with(text));
    machine
        .list(devices)
        .unwrap_or_default()
        .iter()
        .any(|device| {
            starts(format!("{devices}/{device}/vendor"), b"0x10de")
                && starts(format!("{devices}/{device}/class"), b"0x03")
        })
}
