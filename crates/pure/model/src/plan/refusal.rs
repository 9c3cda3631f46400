//! Why a node is left alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::renderer::services;

#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "refused", rename_all = "kebab-case")]
pub enum PlanRefusal {
    #[error("this node is not in the cluster file; add a [[node]] named '{name}', or leave it out")]
    NotInCluster { name: String },
    #[error("there is no cage '{cage}' on this node; it has {}", listed(.known))]
    NoCage { cage: String, known: Vec<String> },
    #[error("{device} has no network interface; load its Ethernet driver")]
    NoInterface { device: String },
    #[error(
        "cage '{cage}' of the cluster file lists {port}, and this node has no such port; correct the file, or look why the \
         port is missing"
    )]
    NoPort { cage: String, port: String },
    #[error(
        "{interface} and {other} have the same hardware address {mac}, so neither their addresses nor answers can be told \
         apart; give one of them its own (a cloned address in netplan, NetworkManager or a .link file?)"
    )]
    SameMac {
        interface: String,
        other: String,
        mac: String,
    },
    #[error(
        "{interface} carries management (the default route, the ssh connection, or what stands on it), and fabric ports are \
         configured anew; take its cable out of the cluster file, or move management elsewhere"
    )]
    Management { interface: String },
    #[error(
        "{interface} belongs to {master}, and RDMA needs the port itself; take it out of {master}"
    )]
    Enslaved { interface: String, master: String },
    #[error(
        "the pool {pool} overlaps {network}, which is already in use on {interface}; choose another `pool` in the cluster file"
    )]
    PoolOverlap {
        pool: String,
        network: String,
        interface: String,
    },
    #[error("MTU {mtu} is more than {interface} can do ({max}); lower `mtu` in the cluster file")]
    MtuTooLarge {
        interface: String,
        mtu: u32,
        max: u32,
    },
    #[error(
        "cage {cage} has {found} ports, and two are the most that share a cable; set `twin_addresses = \"first\"`, or group the \
         ports in the cluster file"
    )]
    TooManyTwins { cage: String, found: usize },
    #[error(
        "{interface} is run by ifupdown, which this tool does not write for; take it out of /etc/network/interfaces and use \
         systemd-networkd: `systemctl enable --now systemd-networkd`"
    )]
    Ifupdown { interface: String },
    #[error(
        "nothing runs {interface}: neither {} is running; start one: `systemctl enable --now systemd-networkd` leaves every \
         interface alone that it has no file for",
        services().collect::<Vec<_>>().join(" nor ")
    )]
    NoManager { interface: String },
    #[error(
        "{file} is broken ({error}), and netplan reads all files or none; mend it first: `netplan generate` names the line"
    )]
    BrokenNetplan { file: String, error: String },
    #[error(
        "netplan's files say something else about {interface} than what is in force ({file}): someone's edit is not applied yet, \
         and this plan would apply it too; `netplan diff` or `netplan get` shows it"
    )]
    UnappliedNetplan { interface: String, file: String },
    #[error(
        "{file} configures {interface} too, and more than that, so it cannot be set aside ({why}); take {interface} out of it"
    )]
    SharedProfile {
        file: String,
        interface: String,
        why: String,
    },
    #[error(
        "{file} was changed by hand after it was written; move the change to the cluster file or elsewhere, and delete {file}"
    )]
    Edited { file: String },
    #[error(
        "{file} could not be read ({why}), and the plan would be blind to what is in it; it takes root there \
         (a capture: `crosstie scan --sudo`)"
    )]
    Unread { file: String, why: String },
    #[error("{file} is in the way: it is not this tool's; rename it")]
    Taken { file: String },
    #[error("{what} '{value}' cannot be written in {format}")]
    Unwritable {
        what: String,
        value: String,
        format: String,
    },
    #[error(
        "lldpad is running and sets priorities by itself; stop it: `systemctl disable --now lldpad`"
    )]
    Lldpad,
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}
