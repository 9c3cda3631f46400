//! What is no longer as it was left.

use std::collections::BTreeMap;

use crosstie_model::{
    Facts, Step,
    change::Drift,
    facts::{net::Interface, rdma::RdmaPort},
    plan::{Change, Configure, FileChange, Reread, global_addresses},
};
use serde::{Deserialize, Serialize};

use super::{image::look, journal::Transaction, system::System};

/// Something that is not as a change left it, as it was at some moment: before a trial, or when that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DriftRecord {
    what: String,
    found: String,
    /// SHA-256, where it is a file.
    sum: Option<String>,
}

/// What the changes in force have left, the later ones counting, against what is there. What a trial that was kept made of it
/// is no drift.
pub(super) fn drift(system: &dyn System, transactions: &[Transaction]) -> Vec<Drift> {
    let mut claims = BTreeMap::new();
    let mut kept: BTreeMap<&str, &DriftRecord> = BTreeMap::new();
    for transaction in transactions.iter().filter(|found| found.is_in_force()) {
        for (what, claim) in transaction.journal.steps.iter().flat_map(pieces) {
            kept.remove(what.as_str());
            claims.insert(what, claim);
        }
        let by_trial = transaction.progress.kept_by_trial.iter();
        kept.extend(by_trial.map(|one| (one.what.as_str(), one)));
    }
    if claims.is_empty() {
        return Vec::new();
    }
    let now = system.facts();
    let drifted = claims.into_iter().filter(|(_, claim)| !claim.is_done(&now));
    drifted
        .filter_map(|(what, claim)| {
            let (wanted, found) = told(&claim, &now);
            let drift = Drift {
                what,
                wanted,
                found,
            };
            match kept.get(drift.what.as_str()) {
                Some(kept) => kept.drifted(system, drift),
                None => Some(drift),
            }
        })
        .collect()
}

/// All of it now, for the journal of a trial.
pub(super) fn records(system: &dyn System, transactions: &[Transaction]) -> Vec<DriftRecord> {
    let drift = drift(system, transactions).into_iter();
    drift
        .map(|drift| DriftRecord {
            sum: sum(system, &drift.what),
            what: drift.what,
            found: drift.found,
        })
        .collect()
}

impl DriftRecord {
    /// Nothing where it is as the trial left it.
    fn drifted(&self, system: &dyn System, drift: Drift) -> Option<Drift> {
        let is_kept = self.found == drift.found && self.sum == sum(system, &drift.what);
        let wanted = "as the `crosstie try` that was kept left it".to_owned();
        (!is_kept).then_some(Drift { wanted, ..drift })
    }
}

/// Of a file; nothing where there is none.
fn sum(system: &dyn System, what: &str) -> Option<String> {
    let is_path = what.starts_with('/');
    let found = is_path.then(|| look(&system.path(what)).ok().flatten());
    found.flatten().map(|found| found.sum())
}

/// A step as steps about one thing each.
fn pieces(step: &Step) -> Vec<(String, Step)> {
    let Step::Configure(Configure { files, then }) = step else {
        return vec![(name(step), step.clone())];
    };
    let files = files.iter().map(|file| {
        let files = vec![file.clone()];
        let then = Vec::new();
        let piece = Step::Configure(Configure { files, then });
        (file.path().to_owned(), piece)
    });
    let interfaces = then.iter().filter_map(|reread| match reread {
        Reread::Interface(change) => {
            let then = vec![reread.clone()];
            let files = Vec::new();
            let piece = Step::Configure(Configure { files, then });
            Some((change.name.clone(), piece))
        }
        Reread::Units => None,
    });
    files.chain(interfaces).collect()
}

fn name(step: &Step) -> String {
    match step {
        Step::Configure(_) => String::new(),
        Step::Sysctl { name, .. } | Step::Module { name, .. } | Step::Unit { name, .. } => {
            name.clone()
        }
        Step::Packages { names, .. } => names.join(" "),
        Step::TimeService { .. } => "time service".to_owned(),
        Step::Pfc { interface, .. } => format!("{interface} flow control"),
        Step::Trust { interface, .. } => format!("{interface} trust"),
        Step::Dscp {
            interface, dscp, ..
        } => format!("{interface} DSCP {dscp}"),
        Step::Ecn {
            interface,
            point,
            priority,
            ..
        } => format!("{interface} ECN {point:?} {priority}"),
        Step::TrafficClass { device, port, .. } => format!("{device}/{port} traffic class"),
        Step::RoceMode { device, port, .. } => format!("{device}/{port} RoCE mode"),
        Step::Link { interface, .. } => format!("{interface} link"),
    }
}

/// What was left, and what is there.
fn told(claim: &Step, now: &Facts) -> (String, String) {
    let is = |change: &Change<bool>, yes: &str, no: &str| {
        let word = |value: bool| if value { yes } else { no }.to_owned();
        (word(change.to), word(!change.to))
    };
    match claim {
        Step::Configure(Configure { files, then }) => match (files.first(), then.first()) {
            (Some(file), _) => file_told(file, now),
            (None, Some(Reread::Interface(change))) => {
                let listed = |nets: &[ipnet::IpNet]| {
                    let nets: Vec<String> = nets.iter().map(ToString::to_string).collect();
                    if nets.is_empty() {
                        "no address".to_owned()
                    } else {
                        nets.join(", ")
                    }
                };
                let found = now.network.interface(&change.name);
                let mtu = |mtu: Option<&crosstie_model::Mtu>| {
                    mtu.map_or_else(String::new, |mtu| format!(", MTU {mtu}"))
                };
                let found = found.map_or_else(
                    || "no such interface".to_owned(),
                    |found| listed(&global_addresses(found)) + &mtu(found.mtu.known()),
                );
                (
                    listed(&change.addresses.to) + &mtu(change.mtu.to.as_ref()),
                    found,
                )
            }
            _ => (String::new(), String::new()),
        },
        Step::Sysctl { name, value } => {
            let found = now.sysctls.get(name);
            (
                value.to.clone(),
                found.cloned().unwrap_or_else(|| "nothing".to_owned()),
            )
        }
        Step::Module { loaded, .. } => is(loaded, "loaded", "not loaded"),
        Step::Packages { installed, .. } => is(installed, "installed", "not installed"),
        Step::Unit { enabled, .. } => is(enabled, "enabled", "not enabled"),
        Step::TimeService { on } => is(on, "on", "off"),
        Step::Pfc { .. }
        | Step::Trust { .. }
        | Step::Dscp { .. }
        | Step::Ecn { .. }
        | Step::TrafficClass { .. }
        | Step::RoceMode { .. }
        | Step::Link { .. } => port_told(claim, now),
    }
}

/// The same of a port's settings.
fn port_told(claim: &Step, now: &Facts) -> (String, String) {
    match claim {
        Step::Link { interface, up } => {
            let up_now = interface_now(now, interface).and_then(|found| found.up.known());
            let word = |value: &bool| if *value { "up" } else { "down" }.to_owned();
            (word(&up.to), shown(up_now, word))
        }
        Step::Pfc {
            interface,
            priorities,
        } => {
            let qos = interface_now(now, interface).map(|found| &found.qos);
            let list = |priorities: &Vec<u8>| match priorities.as_slice() {
                [] => "off".to_owned(),
                some => {
                    let some: Vec<String> = some.iter().map(ToString::to_string).collect();
                    format!("on for {}", some.join(", "))
                }
            };
            let found = qos.and_then(|qos| qos.pfc.known());
            (list(&priorities.to), shown(found, list))
        }
        Step::Trust { interface, trust } => {
            let qos = interface_now(now, interface).map(|found| &found.qos);
            let found = qos.and_then(|qos| qos.trust.known());
            (trust.to.clone(), shown(found, String::clone))
        }
        Step::Dscp {
            interface,
            dscp,
            priority,
        } => {
            let qos = interface_now(now, interface).map(|found| &found.qos);
            let found = qos.and_then(|qos| qos.dscp_to_priority.known());
            let word = |priority: Option<u8>| {
                priority.map_or_else(|| "the default".to_owned(), |one| format!("priority {one}"))
            };
            let found = found.map(|map| map.get(dscp).copied());
            (word(priority.to), shown(found, word))
        }
        Step::Ecn {
            interface,
            point,
            priority,
            enabled,
        } => {
            let found = interface_now(now, interface).and_then(|found| point.of(found, *priority));
            let word = |on: bool| if on { "on" } else { "off" }.to_owned();
            (word(enabled.to), shown(found, word))
        }
        Step::TrafficClass {
            device,
            port,
            class,
        } => {
            let found = port_now(now, device, *port).and_then(|found| found.traffic_class.known());
            (class.to.to_string(), shown(found, ToString::to_string))
        }
        Step::RoceMode { device, port, mode } => {
            let found = port_now(now, device, *port).and_then(|found| found.cm_roce_mode.known());
            (mode.to.clone(), shown(found, String::clone))
        }
        Step::Configure(_)
        | Step::Sysctl { .. }
        | Step::Module { .. }
        | Step::Packages { .. }
        | Step::Unit { .. }
        | Step::TimeService { .. } => (String::new(), String::new()),
    }
}

/// A value that could not be read is told from one that differs.
fn shown<T>(found: Option<T>, word: impl Fn(T) -> String) -> String {
    found.map_or_else(|| "cannot be read".to_owned(), word)
}

fn interface_now<'a>(now: &'a Facts, name: &str) -> Option<&'a Interface> {
    now.network.interface(name)
}

fn port_now<'a>(now: &'a Facts, device: &str, number: u32) -> Option<&'a RdmaPort> {
    let ports = &now.rdma_device(device)?.ports;
    ports.iter().find(|port| port.number == number)
}

fn file_told(file: &FileChange, now: &Facts) -> (String, String) {
    let path = file.path();
    let managed = &now.managed;
    let (wanted, there) = match file {
        FileChange::Whole { text, .. } => (text.to.is_some(), managed.files.contains_key(path)),
        FileChange::Block { text, .. } => (text.to.is_some(), managed.blocks.contains_key(path)),
        FileChange::Aside { aside, .. } => {
            let word = |set: bool| if set { "set aside" } else { "in force" }.to_owned();
            return (word(aside.to), word(managed.aside.contains(path)));
        }
    };
    let found = if managed.edited.contains(path) {
        "edited by someone"
    } else if there && wanted {
        "another text of this tool's"
    } else if there {
        "still there"
    } else {
        "gone"
    };
    let wanted = if wanted {
        "as it was written"
    } else {
        "no such file"
    };
    (wanted.to_owned(), found.to_owned())
}

#[cfg(test)]
mod tests {
    use crosstie_model::Reading;

    use super::*;

    fn spark() -> Facts {
        let fixture = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../fixtures/nodes/spark-healthy"
        );
        let loaded = crosstie_node::capture::load(std::path::Path::new(fixture)).unwrap();
        let raw = loaded.into_iter().next().unwrap().raw.unwrap();
        crosstie_facts::facts(&raw)
    }

    #[test]
    fn settings_of_ports_are_told_with_what_was_wanted_and_what_is_there() {
        let mut now = spark();
        let interface = now.network.interfaces[0].name.clone();
        now.network.interfaces[0].qos.pfc = Reading::Value(vec![0, 4]);
        now.network.interfaces[0].qos.trust = Reading::Value("pcp".to_owned());
        let pfc = Step::Pfc {
            interface: interface.clone(),
            priorities: Change {
                from: Vec::new(),
                to: vec![3],
            },
        };
        let told_of = |step: &Step| told(step, &now);
        let pair = |wanted: &str, found: &str| (wanted.to_owned(), found.to_owned());
        assert_eq!(told_of(&pfc), pair("on for 3", "on for 0, 4"));
        let trust = Step::Trust {
            interface,
            trust: Change {
                from: "pcp".to_owned(),
                to: "dscp".to_owned(),
            },
        };
        assert_eq!(told_of(&trust), pair("dscp", "pcp"));
        let gone = Step::TrafficClass {
            device: "mlx5_9".to_owned(),
            port: 1,
            class: Change { from: 0, to: 106 },
        };
        assert_eq!(told_of(&gone), pair("106", "cannot be read"));
    }
}
