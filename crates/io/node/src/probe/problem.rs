//! Why a probe was not answered.

use std::{io, net::IpAddr};

use crosstie_model::HardwareAddress;
use rustix::io::Errno;
use thiserror::Error;

#[derive(Debug, Error)]
pub(super) enum ProbeProblem {
    #[error("there is no interface {name}")]
    NoInterface { name: String },
    #[error(
        "only root may ask, or a group that the sysctl net.ipv4.ping_group_range names: pass --sudo"
    )]
    Denied,
    #[error("{bytes} bytes cannot be the size of an echo request to {address}")]
    Size { bytes: u32, address: IpAddr },
    #[error("{bytes} bytes do not fit: the MTU {} is {mtu}", of(.interface.as_ref()))]
    DoesNotFit {
        bytes: u32,
        /// `None`: somewhere on the way.
        interface: Option<String>,
        mtu: u32,
    },
    #[error("{what}: {errno}")]
    System { what: &'static str, errno: Errno },
    #[error("no answer{}", who(.sought))]
    Silent { sought: NeighbourTableState },
    #[error("no connection: {0}")]
    Unconnected(io::Error),
    #[error("it accepts connections and does not greet: {0}")]
    Ungreeted(io::Error),
    #[error("it accepts connections and says {said:?}, which is no SSH server's greeting")]
    NotSsh { said: String },
}

/// What the kernel's neighbour table says of an address that was silent.
#[derive(Debug)]
pub(super) enum NeighbourTableState {
    /// Nothing: it is not on the link.
    Elsewhere,
    InVain,
    At(HardwareAddress),
}

impl ProbeProblem {
    /// No second attempt can do better.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::NoInterface { .. } | Self::Denied | Self::Size { .. } | Self::DoesNotFit { .. }
        )
    }
}

fn of(interface: Option<&String>) -> String {
    interface.map_or("on the way".to_owned(), |name| format!("of {name}"))
}

fn who(sought: &NeighbourTableState) -> String {
    match sought {
        NeighbourTableState::Elsewhere => String::new(),
        NeighbourTableState::InVain => ": nobody on the link has the address".to_owned(),
        // By the table, which may be older than the silence.
        NeighbourTableState::At(mac) => format!(", though {mac} is known to have the address"),
    }
}
