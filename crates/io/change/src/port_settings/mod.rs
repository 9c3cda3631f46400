//! What is set on a port while the machine runs, and lost with the next boot.
//!
//! Every value is looked at first, and nothing is written where it is as wanted already: some of them take the link down.
//! Names come from a plan or a file, and are checked before they are part of a path.

mod boot;
mod error;
mod file;
mod priorities;
mod rdma;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, time::Duration};

use crosstie_model::Step;

pub use boot::{BootFileError, restore};
pub use error::PortSettingsError;

use crosstie_node::{
    names,
    netlink::{
        NetlinkError,
        links::Links,
        message::Request,
        socket::{Answer, Ask, Socket},
    },
};

/// A card's firmware may take seconds while its links come up.
const DEADLINE: Duration = Duration::from_secs(10);

/// Does a step that is about a port's settings, in the direction of `to`.
pub fn set(step: &Step) -> Result<(), PortSettingsError> {
    Ports::machine().set(step)
}

/// The ports of a machine: its file tree, and who answers netlink requests.
pub struct Ports {
    root: PathBuf,
    kernel: Box<dyn Ask>,
}

impl Ports {
    pub fn machine() -> Self {
        Self {
            root: PathBuf::from("/"),
            kernel: Box::new(Kernel),
        }
    }

    pub fn set(&mut self, step: &Step) -> Result<(), PortSettingsError> {
        let other = |kind| Err(PortSettingsError::NotPortSetting { kind });
        match step {
            Step::Pfc {
                interface,
                priorities,
            } => self.set_flow_control(interface, &priorities.to),
            Step::Trust { interface, trust } => self.set_trust(interface, &trust.to),
            Step::Dscp {
                interface,
                dscp,
                priority,
            } => self.set_dscp(interface, *dscp, priority.to),
            Step::Ecn {
                interface,
                point,
                priority,
                enabled,
            } => self.set_ecn(interface, *point, *priority, enabled.to),
            Step::TrafficClass {
                device,
                port,
                class,
            } => self.set_traffic_class(device, *port, class.to),
            Step::RoceMode { device, port, mode } => self.set_roce_mode(device, *port, &mode.to),
            Step::Link { interface, up } => self.set_link(interface, up.to),
            Step::Configure(_) => other("configure"),
            Step::Sysctl { .. } => other("sysctl"),
            Step::Module { .. } => other("module"),
            Step::Packages { .. } => other("packages"),
            Step::Unit { .. } => other("unit"),
            Step::TimeService { .. } => other("time service"),
        }
    }

    fn set_link(&mut self, interface: &str, up: bool) -> Result<(), PortSettingsError> {
        checked_interface(interface)?;
        let failed = |source| kernel_error("the link", interface, source);
        let mut links = Links(&mut *self.kernel);
        let link = links.find(interface).map_err(failed)?;
        let link = link.ok_or_else(|| PortSettingsError::NoInterface {
            interface: interface.to_owned(),
        })?;
        if link.is_up == up {
            return Ok(());
        }
        links.set_up(link.index, up).map_err(failed)
    }
}

/// A socket for each request: there are few.
struct Kernel;

impl Ask for Kernel {
    fn ask(&mut self, request: &Request) -> Result<Answer, NetlinkError> {
        Socket::open_within(None, DEADLINE)?.ask(request)
    }
}

fn checked_interface(name: &str) -> Result<(), PortSettingsError> {
    checked(name, "a network interface", names::is_interface(name))
}

fn checked_device(name: &str) -> Result<(), PortSettingsError> {
    checked(name, "an RDMA device", names::is_device(name))
}

fn checked(name: &str, what: &'static str, good: bool) -> Result<(), PortSettingsError> {
    if good {
        return Ok(());
    }
    Err(PortSettingsError::Name {
        what,
        name: name.to_owned(),
    })
}

fn kernel_error(what: &'static str, interface: &str, source: NetlinkError) -> PortSettingsError {
    PortSettingsError::Kernel {
        what,
        interface: interface.to_owned(),
        source,
    }
}
