//! Why a port was not set.

use std::io;

use rustix::io::Errno;
use thiserror::Error;

use crosstie_node::netlink::NetlinkError;

#[derive(Debug, Error)]
pub enum PortSettingsError {
    #[error("a step of the kind '{kind}' is not a port setting")]
    NotPortSetting { kind: &'static str },
    #[error("'{name}' is no name of {what}")]
    Name { what: &'static str, name: String },
    #[error("{what} of {of} cannot be '{value}'")]
    Value {
        what: &'static str,
        of: String,
        value: String,
    },
    #[error("there is no {path}: the driver is not loaded, or cannot do this")]
    NoFile { path: String },
    #[error("there is no {path}: the module rdma_cm is not loaded; modprobe rdma_cm")]
    NoConnectionManager { path: String },
    #[error("there is no interface {interface}")]
    NoInterface { interface: String },
    #[error("'{value}' cannot be written to {path}")]
    Write {
        path: String,
        value: String,
        #[source]
        source: io::Error,
    },
    #[error("{path} cannot be made for RDMA-CM's settings")]
    Folder {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("configfs cannot be mounted on {path}")]
    Mount {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("{what} of {interface} cannot be set")]
    Kernel {
        what: &'static str,
        interface: String,
        #[source]
        source: NetlinkError,
    },
}

impl PortSettingsError {
    /// Whether it may work later, when the driver has made the port, or is less busy.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NoFile { .. } | Self::NoConnectionManager { .. } | Self::NoInterface { .. } => {
                true
            }
            Self::Write { source, .. } | Self::Folder { source, .. } => {
                matches!(
                    Errno::from_io_error(source),
                    Some(Errno::NOENT | Errno::NODEV)
                )
            }
            Self::Kernel { source, .. } => matches!(
                source,
                NetlinkError::Refused(Errno::NODEV) | NetlinkError::Silent(_)
            ),
            Self::NotPortSetting { .. }
            | Self::Name { .. }
            | Self::Value { .. }
            | Self::Mount { .. } => false,
        }
    }
}
