//! One thing that is done on a node: what it was, what it becomes, and how to see that it is so.

use std::collections::BTreeSet;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Facts, Mtu, Renderer,
    facts::net::Interface,
    managed::{ASIDE, BlockPlace},
};

/// From one value to another; undone by going the other way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change<T> {
    pub from: T,
    pub to: T,
}

impl<T: Clone + PartialEq> Change<T> {
    /// `None` where there is nothing to do.
    pub fn between(from: T, to: T) -> Option<Self> {
        (from != to).then_some(Self { from, to })
    }

    #[must_use]
    pub fn undo(&self) -> Self {
        Self {
            from: self.to.clone(),
            to: self.from.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    Configure(Configure),
    Sysctl {
        /// As sysctl writes it: a dot within a part of the name is a slash.
        name: String,
        value: Change<String>,
    },
    Module {
        name: String,
        loaded: Change<bool>,
    },
    Packages {
        names: Vec<String>,
        installed: Change<bool>,
    },
    /// Whether the boot starts a unit.
    Unit {
        name: String,
        enabled: Change<bool>,
    },
    /// Whether systemd runs an installed time service, now and at boot.
    TimeService {
        on: Change<bool>,
    },
    /// Priority flow control. Changing it takes the link down for a moment.
    Pfc {
        interface: String,
        priorities: Change<Vec<u8>>,
    },
    /// By which field of a packet its priority is chosen: `pcp` or `dscp`.
    Trust {
        interface: String,
        trust: Change<String>,
    },
    Dscp {
        interface: String,
        dscp: u8,
        priority: Change<Option<u8>>,
    },
    Ecn {
        interface: String,
        point: EcnPoint,
        priority: u8,
        enabled: Change<bool>,
    },
    /// What queue pairs get that ask for no class.
    TrafficClass {
        device: String,
        port: u32,
        class: Change<u8>,
    },
    /// RDMA-CM's default: `IB/RoCE v1` or `RoCE v2`.
    RoceMode {
        device: String,
        port: u32,
        mode: Change<String>,
    },
    /// Administratively up or down.
    Link {
        interface: String,
        up: Change<bool>,
    },
}

/// Files, and those who must read them again. The files are all changed first, in either direction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Configure {
    pub files: Vec<FileChange>,
    pub then: Vec<Reread>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FileChange {
    /// A file that is all ours.
    Whole {
        path: String,
        mode: Mode,
        text: Change<Option<String>>,
    },
    /// Our block in a file that others write too.
    Block {
        path: String,
        place: BlockPlace,
        text: Change<Option<String>>,
    },
    /// Someone else's file for the same interfaces, renamed so that nobody reads it.
    Aside { path: String, aside: Change<bool> },
}

/// Owner is root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    #[serde(rename = "0600")]
    Private,
    #[serde(rename = "0644")]
    Public,
}

impl Mode {
    pub fn bits(self) -> u32 {
        match self {
            Self::Private => 0o600,
            Self::Public => 0o644,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reread", rename_all = "kebab-case")]
pub enum Reread {
    /// systemd: units and its own defaults.
    Units,
    Interface(InterfaceChange),
}

/// One interface, configured anew by its own manager and by nobody else's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceChange {
    pub name: String,
    pub by: Renderer,
    /// Global addresses, sorted.
    #[schemars(with = "Change<Vec<String>>")]
    pub addresses: Change<Vec<IpNet>>,
    #[schemars(with = "Change<Option<u32>>")]
    pub mtu: Change<Option<Mtu>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnPoint {
    /// The receiver, which tells of congestion.
    Notification,
    /// The sender, which slows down.
    Reaction,
}

impl Step {
    #[must_use]
    pub fn undo(&self) -> Self {
        let mut step = self.clone();
        match &mut step {
            Self::Configure(Configure { files, then }) => {
                files.reverse();
                files.iter_mut().for_each(FileChange::turn);
                then.reverse();
                then.iter_mut().for_each(Reread::turn);
            }
            Self::Sysctl { value, .. } => *value = value.undo(),
            Self::Module { loaded, .. } => *loaded = loaded.undo(),
            Self::Packages { installed, .. } => *installed = installed.undo(),
            Self::Unit { enabled, .. } | Self::Ecn { enabled, .. } => *enabled = enabled.undo(),
            Self::TimeService { on } => *on = on.undo(),
            Self::Pfc { priorities, .. } => *priorities = priorities.undo(),
            Self::Trust { trust, .. } => *trust = trust.undo(),
            Self::Dscp { priority, .. } => *priority = priority.undo(),
            Self::TrafficClass { class, .. } => *class = class.undo(),
            Self::RoceMode { mode, .. } => *mode = mode.undo(),
            Self::Link { up, .. } => *up = up.undo(),
        }
        step
    }

    /// Whether the node is as the step would leave it. A gap in the facts is no proof.
    pub fn is_done(&self, now: &Facts) -> bool {
        let interface = |name: &str| now.network.interface(name);
        let port = |device: &str, number: u32| {
            let ports = &now.rdma_device(device)?.ports;
            ports.iter().find(|port| port.number == number)
        };
        match self {
            Self::Configure(Configure { files, then }) => {
                files.iter().all(|file| file.is_done(now))
                    && then.iter().all(|reread| reread.is_done(now))
            }
            Self::Sysctl { name, value } => now.sysctls.get(name) == Some(&value.to),
            Self::Module { name, loaded } => now.software.module(name).is_some() == loaded.to,
            Self::Packages { names, installed } => names
                .iter()
                .all(|name| now.software.package(name).is_some() == installed.to),
            Self::Unit { name, enabled } => now.managed.units.contains(name) == enabled.to,
            Self::TimeService { on } => now.system.time_service_on.known() == Some(&on.to),
            Self::Pfc {
                interface: name,
                priorities,
            } => interface(name).and_then(|found| found.qos.pfc.known()) == Some(&priorities.to),
            Self::Trust {
                interface: name,
                trust,
            } => interface(name).and_then(|found| found.qos.trust.known()) == Some(&trust.to),
            Self::Dscp {
                interface: name,
                dscp,
                priority,
            } => interface(name)
                .and_then(|found| found.qos.dscp_to_priority.known())
                .is_some_and(|map| map.get(dscp).copied() == priority.to),
            Self::Ecn {
                interface: name,
                point,
                priority,
                enabled,
            } => interface(name).and_then(|found| point.of(found, *priority)) == Some(enabled.to),
            Self::TrafficClass {
                device,
                port: number,
                class,
            } => {
                port(device, *number).and_then(|port| port.traffic_class.known()) == Some(&class.to)
            }
            Self::RoceMode {
                device,
                port: number,
                mode,
            } => port(device, *number).and_then(|port| port.cm_roce_mode.known()) == Some(&mode.to),
            Self::Link {
                interface: name,
                up,
            } => interface(name).and_then(|found| found.up.known()) == Some(&up.to),
        }
    }
}

impl FileChange {
    pub fn path(&self) -> &str {
        match self {
            Self::Whole { path, .. } | Self::Block { path, .. } | Self::Aside { path, .. } => path,
        }
    }

    fn turn(&mut self) {
        match self {
            Self::Whole { text, .. } | Self::Block { text, .. } => *text = text.undo(),
            Self::Aside { aside, .. } => *aside = aside.undo(),
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        let managed = &now.managed;
        match self {
            Self::Whole { path, text, .. } => managed.files.get(path) == text.to.as_ref(),
            Self::Block { path, text, .. } => managed.blocks.get(path) == text.to.as_ref(),
            Self::Aside { path, aside } => managed.aside.contains(path) == aside.to,
        }
    }
}

/// Where a file goes that is set aside.
pub fn aside(path: &str) -> String {
    format!("{path}{ASIDE}")
}

impl Reread {
    /// Makes it its own undo.
    pub fn turn(&mut self) {
        if let Self::Interface(change) = self {
            change.addresses = change.addresses.undo();
            change.mtu = change.mtu.undo();
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        match self {
            // Nobody can see whether it was read; the files are what counts.
            Self::Units => true,
            Self::Interface(change) => now
                .network
                .interface(&change.name)
                .is_some_and(|found| change.is_done(found)),
        }
    }
}

impl InterfaceChange {
    fn is_done(&self, found: &Interface) -> bool {
        let mtu = self.mtu.to.is_none() || found.mtu.known() == self.mtu.to.as_ref();
        mtu && global_addresses(found) == self.addresses.to
    }
}

/// What an interface can be reached at from elsewhere, sorted.
pub fn global_addresses(interface: &Interface) -> Vec<IpNet> {
    let global = interface.addresses.iter();
    let global = global.filter(|address| address.scope == "global");
    let sorted: BTreeSet<IpNet> = global.map(|address| address.net).collect();
    sorted.into_iter().collect()
}

impl EcnPoint {
    pub fn of(self, interface: &Interface, priority: u8) -> Option<bool> {
        let points = match self {
            Self::Notification => &interface.qos.ecn_notify,
            Self::Reaction => &interface.qos.ecn_react,
        };
        points.known()?.get(&priority).copied()
    }
}
