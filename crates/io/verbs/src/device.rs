//! The RDMA devices that libibverbs can drive.

use std::{ffi::CStr, io, path::Path, ptr::NonNull, sync::Arc};

use crosstie_verbs_abi as abi;

use crate::{
    captured_stderr,
    error::{DeviceListError, OpenDeviceError},
    library::VerbsLibrary,
};

/// Where the kernel lists its RDMA devices, whether or not libibverbs can drive them.
const SYSFS_DEVICES: &str = "/sys/class/infiniband";

/// A device that libibverbs can open.
#[derive(Debug, Clone)]
pub struct VerbsDevice {
    pub(crate) raw: NonNull<abi::Device>,
    pub(crate) name: Arc<str>,
    pub(crate) list: Arc<DeviceList>,
}

impl VerbsDevice {
    /// What the kernel calls it, such as `mlx5_0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The one of that name.
    pub fn find(devices: &[Self], name: &str) -> Result<Self, OpenDeviceError> {
        let found = devices.iter().find(|device| device.name() == name);
        found.cloned().ok_or_else(|| OpenDeviceError::Absent {
            name: name.to_owned(),
            present: devices
                .iter()
                .map(|device| device.name().to_owned())
                .collect(),
        })
    }
}

impl VerbsLibrary {
    /// All devices. What libibverbs writes to standard error meanwhile is part of the error, if the kernel has devices
    /// of which the library lists none; with `IBV_SHOW_WARNINGS` in the environment it says more.
    pub fn devices(&self) -> Result<Vec<VerbsDevice>, DeviceListError> {
        self.devices_with_sysfs(Path::new(SYSFS_DEVICES))
    }

    /// As [`devices`](Self::devices), with the kernel's own list elsewhere.
    pub fn devices_with_sysfs(&self, sysfs: &Path) -> Result<Vec<VerbsDevice>, DeviceListError> {
        let (listed, library_output) = captured_stderr::capture(|| DeviceList::ask(self));
        match listed {
            Ok((_, devices)) if devices.is_empty() && has_entries(sysfs) => {
                Err(DeviceListError::NoProvider {
                    devices: kernel_devices(sysfs),
                    library_output,
                })
            }
            Err(source) if source.raw_os_error() == Some(NOT_IMPLEMENTED) => {
                Err(DeviceListError::NoRdma(source))
            }
            Err(source) => Err(DeviceListError::Call(source)),
            Ok((list, devices)) => {
                captured_stderr::pass_on(&library_output);
                let list = Arc::new(list);
                let named = devices.into_iter().map(|(raw, name)| VerbsDevice {
                    raw,
                    name,
                    list: Arc::clone(&list),
                });
                Ok(named.collect())
            }
        }
    }
}

/// ENOSYS: libibverbs' word for a kernel without the uverbs interface.
const NOT_IMPLEMENTED: i32 = rustix::io::Errno::NOSYS.raw_os_error();

fn has_entries(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

fn kernel_devices(sysfs: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(sysfs).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The list that libibverbs made. A device may be opened as long as its list has not been freed.
#[derive(Debug)]
pub(crate) struct DeviceList {
    raw: NonNull<*mut abi::Device>,
    pub(crate) library: VerbsLibrary,
}

type Named = (NonNull<abi::Device>, Arc<str>);

impl DeviceList {
    fn ask(library: &VerbsLibrary) -> io::Result<(Self, Vec<Named>)> {
        let functions = library.functions();
        let mut count = 0;
        // SAFETY: the count is written to a local; the list is freed by Drop, and only there.
        let raw = crate::call::pointer(unsafe { (functions.ibv_get_device_list)(&raw mut count) })?;
        let list = Self {
            raw,
            library: library.clone(),
        };
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: the list holds `count` pointers and a null pointer after them.
        let entries =
            (0..count).map_while(|index| NonNull::new(unsafe { *raw.as_ptr().add(index) }));
        let devices = entries
            .map(|device| (device, list.name_of(device)))
            .collect();
        Ok((list, devices))
    }

    fn name_of(&self, device: NonNull<abi::Device>) -> Arc<str> {
        // SAFETY: the device is one of this list's, which has not been freed.
        let name = unsafe { (self.library.functions().ibv_get_device_name)(device.as_ptr()) };
        if name.is_null() {
            return Arc::from("unnamed");
        }
        // SAFETY: a string that lives as long as the device.
        let name = unsafe { CStr::from_ptr(name) };
        Arc::from(name.to_string_lossy())
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        // SAFETY: made by ibv_get_device_list, and freed once. Devices that are open have references of their own.
        unsafe { (self.library.functions().ibv_free_device_list)(self.raw.as_ptr()) };
    }
}

// SAFETY: libibverbs may be called from any thread, and a list does not change.
unsafe impl Send for DeviceList {}
// SAFETY: likewise.
unsafe impl Sync for DeviceList {}
// SAFETY: likewise; the device's memory is the list's.
unsafe impl Send for VerbsDevice {}
// SAFETY: likewise.
unsafe impl Sync for VerbsDevice {}
