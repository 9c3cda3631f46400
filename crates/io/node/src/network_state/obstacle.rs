//! What could not be kept or restored. None of it ends the work.

use std::io;

use crosstie_facts::ReadGap;
use thiserror::Error;

use crate::netlink::NetlinkError;

#[derive(Debug, Error)]
pub enum NetworkRestoreObstacle {
    /// Left, not failed: there is nothing that it could be restored on.
    #[error("{what} of {interface}: the interface no longer exists")]
    Gone { what: String, interface: String },
    /// Left, not failed: names are labels.
    #[error("{interface} is called {now} now: its settings were restored there, its name was left")]
    Renamed { interface: String, now: String },
    /// Left, not failed: links, addresses and firewall are by now what the configuration makes of them.
    #[error(
        "the node was restarted since: its runtime network state is its configuration's, and was left"
    )]
    Restarted,
    /// Left, not failed: they are restored only where the link is created again.
    #[error("the settings of {interface} as a {kind} were changed, and were left")]
    FixedKind { interface: String, kind: String },
    #[error("{what} cannot be read ({call})")]
    Unread {
        what: &'static str,
        call: &'static str,
        #[source]
        source: NetlinkError,
    },
    /// Of a change of long ago: what it did cannot be told from what others have done since.
    #[error("the {what} stay as they are: they could not be read {when}")]
    NotCompared {
        what: &'static str,
        when: &'static str,
    },
    #[error("{what} cannot be restored ({call})")]
    Kernel {
        /// With the interface's name, where it has one.
        what: String,
        call: &'static str,
        #[source]
        source: NetlinkError,
    },
    #[error("the kernel took {what}, and shows it otherwise ({call})")]
    Otherwise { what: String, call: &'static str },
    #[error("{interface} was deleted, and a link of the kind '{kind}' cannot be created again")]
    NotRecreatable { interface: String, kind: String },
    #[error(
        "{interface} was created again with the default settings of the kind '{kind}' (RTM_NEWLINK refused its own)"
    )]
    DefaultSettings {
        interface: String,
        kind: String,
        #[source]
        source: NetlinkError,
    },
    #[error("'{value}' cannot be written to {path}")]
    Sysctl {
        path: String,
        value: String,
        #[source]
        source: io::Error,
    },
    #[error("the firewall cannot be read ({program})")]
    FirewallUnread {
        program: &'static str,
        #[source]
        source: ReadGap,
    },
    /// The program does not take its own output: rules that another program made.
    #[error("the firewall's table {table} could not be restored if it changed ({program})")]
    FirewallFixed {
        table: String,
        program: &'static str,
        #[source]
        source: ReadGap,
    },
    #[error("the firewall's {tables} cannot be restored ({program})")]
    Firewall {
        tables: String,
        program: &'static str,
        #[source]
        source: ReadGap,
    },
}

impl NetworkRestoreObstacle {
    /// Whether something was left as it is because there is nothing to restore, rather than tried in vain.
    pub fn is_left(&self) -> bool {
        matches!(
            self,
            Self::Gone { .. } | Self::Renamed { .. } | Self::Restarted | Self::FixedKind { .. }
        )
    }
}
