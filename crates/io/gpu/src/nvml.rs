//! NVML, the library under nvidia-smi.

use std::{
    ffi::OsStr,
    sync::mpsc::{RecvTimeoutError, sync_channel},
    time::Duration,
};

use nvml_wrapper::{
    Nvml, cuda_driver_version_major, cuda_driver_version_minor, error::NvmlError as Cause,
};

use crosstie_model::{
    Bytes, Reading,
    facts::gpu::{Gpu, GpuFacts},
};

/// The name with the ABI's number comes with the driver; the bare one only with development packages.
const LIBRARY: &str = "libnvidia-ml.so.1";

const MIB: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum NvmlError {
    #[error("{LIBRARY} could not be loaded or initialised: is NVIDIA's driver installed?")]
    Library(#[source] Cause),
    #[error("NVML did not say how many GPUs there are")]
    Count(#[source] Cause),
    #[error("NVML gave no answer within {0:?}: see `dmesg` for NVRM messages")]
    Silent(Duration),
    #[error("the thread that asks NVML could not be started")]
    Thread(#[source] std::io::Error),
}

/// Asks NVML in a thread of its own: a call into the driver of a sick GPU may never return, and the thread is then
/// left behind.
pub fn read(deadline: Duration) -> Result<GpuFacts, NvmlError> {
    let (sender, receiver) = sync_channel(1);
    std::thread::Builder::new()
        .name("nvml".to_owned())
        .spawn(move || sender.send(ask()))
        .map_err(NvmlError::Thread)?;
    match receiver.recv_timeout(deadline) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            Err(NvmlError::Silent(deadline))
        }
    }
}

fn ask() -> Result<GpuFacts, NvmlError> {
    let nvml = Nvml::builder()
        .lib_path(OsStr::new(LIBRARY))
        .init()
        .map_err(NvmlError::Library)?;
    let attached = nvml.device_count().map_err(NvmlError::Count)?;
    let cuda = nvml.sys_cuda_driver_version().ok().map(|version| {
        let major = cuda_driver_version_major(version);
        format!("{major}.{}", cuda_driver_version_minor(version))
    });
    let devices = (0..attached).filter_map(|index| gpu(&nvml, index));
    Ok(GpuFacts {
        devices: Reading::Value(devices.collect()),
        driver: nvml.sys_driver_version().ok().into(),
        cuda: cuda.into(),
    })
}

/// One that fell off the bus is counted and does not answer.
fn gpu(nvml: &Nvml, index: u32) -> Option<Gpu> {
    let device = nvml.device_by_index(index).ok()?;
    let memory = device.memory_info().ok();
    Some(Gpu {
        name: device.name().unwrap_or_else(|_| "unnamed GPU".to_owned()),
        pci: Reading::from(
            device
                .pci_info()
                .ok()
                .and_then(|pci| pci.bus_id.parse().ok()),
        ),
        // Whole mebibytes, as nvidia-smi prints them.
        memory: Reading::from(memory.map(|memory| Bytes(memory.total / MIB * MIB))),
    })
}
