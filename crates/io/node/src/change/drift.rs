//! What is no longer as it was left.

use std::collections::BTreeMap;

use crosstie_model::{
    Facts, Step,
    change::Drift,
    plan::{Change, Configure, FileChange, Reread, global_addresses},
};

/// What changes in force have left, the later ones counting, against what is there.
pub(super) fn drift(steps: &[&Step], now: &Facts) -> Vec<Drift> {
    let mut claims = BTreeMap::new();
    for step in steps {
        for (what, claim) in pieces(step) {
            claims.insert(what, claim);
        }
    }
    let drifted = claims.into_iter().filter(|(_, claim)| !claim.is_done(now));
    drifted
        .map(|(what, claim)| {
            let (wanted, found) = told(&claim, now);
            Drift {
                what,
                wanted,
                found,
            }
        })
        .collect()
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
