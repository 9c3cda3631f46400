//! What is no longer as it was left.

use std::collections::BTreeMap;

use crosstie_model::{
    Facts, Step,
    change::Drift,
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
        Step::Link { up, .. } => is(up, "up", "down"),
        _ => ("as planned".to_owned(), "something else".to_owned()),
    }
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
