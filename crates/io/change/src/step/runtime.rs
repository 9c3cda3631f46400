//! The running node that steps set: its file tree, and who answers netlink requests.

use std::{fs::OpenOptions, io::Write, path::PathBuf, time::Duration};

use crosstie_facts::{FileTree, ReadGap};
use crosstie_node::{
    LocalFileTree, names,
    netlink::{
        NetlinkError,
        message::NetlinkRequest,
        socket::{NetlinkReply, NetlinkSocket, NetlinkTransport},
    },
};

use crate::error::StepError;

/// A card's firmware may take seconds while its links come up.
const NETLINK_TIMEOUT: Duration = Duration::from_secs(10);

pub struct NodeRuntime {
    pub(super) root: PathBuf,
    pub(super) kernel: Box<dyn NetlinkTransport>,
}

impl NodeRuntime {
    /// This machine.
    pub fn machine() -> Self {
        Self {
            root: PathBuf::from("/"),
            kernel: Box::new(Kernel),
        }
    }

    /// What an attribute of sysfs or configfs says. `None` is one that there is not.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        match LocalFileTree::at(&self.root).read(path) {
            Err(ReadGap::Absent) => None,
            // Whoever may not read it, or cannot, hears so again on writing.
            other => Some(String::from_utf8_lossy(&other.unwrap_or_default()).into_owned()),
        }
    }

    /// Writes an attribute that is there, unless it says so already.
    pub(super) fn update(
        &self,
        path: &str,
        value: &str,
        is_so: impl FnOnce(&str) -> bool,
    ) -> Result<(), StepError> {
        match self.read(path) {
            None => Err(StepError::NoFile {
                path: format!("/{path}"),
            }),
            Some(found) if is_so(found.trim()) => Ok(()),
            Some(_) => self.write(path, value),
        }
    }

    pub(super) fn write(&self, path: &str, value: &str) -> Result<(), StepError> {
        let written = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.root.join(path))
            // Drivers take a value from one call of write(2).
            .and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|source| StepError::Write {
            path: format!("/{path}"),
            value: value.trim_end().to_owned(),
            source,
        })
    }
}

/// A socket for each request: there are few.
struct Kernel;

impl NetlinkTransport for Kernel {
    fn ask(&mut self, request: &NetlinkRequest) -> Result<NetlinkReply, NetlinkError> {
        NetlinkSocket::open_within(None, NETLINK_TIMEOUT)?.ask(request)
    }
}

/// Names come from a plan or a file, and become parts of paths.
pub(super) fn check_interface(name: &str) -> Result<(), StepError> {
    check(name, "a network interface", names::is_interface(name))
}

pub(super) fn check_device(name: &str) -> Result<(), StepError> {
    check(name, "an RDMA device", names::is_device(name))
}

fn check(name: &str, what: &'static str, is_good: bool) -> Result<(), StepError> {
    if is_good {
        return Ok(());
    }
    Err(StepError::Name {
        what,
        name: name.to_owned(),
    })
}

/// For `map_err`: which setting of which interface the kernel refused.
pub(super) fn kernel_error(
    what: &'static str,
    interface: &str,
) -> impl FnOnce(NetlinkError) -> StepError {
    let interface = interface.to_owned();
    move |source| StepError::Kernel {
        what,
        interface,
        source,
    }
}
