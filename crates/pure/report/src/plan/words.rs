//! A step in plain words.

use crosstie_model::{
    Step,
    plan::{EcnPoint, FileChange, InterfaceChange, Reread},
};
use std::fmt::Display;

use super::files::renamed;

/// One line for each thing that is done besides writing files.
pub fn words(step: &Step) -> Vec<String> {
    let one = match step {
        Step::Configure(configure) => {
            let moved = configure.files.iter().filter_map(|file| match file {
                FileChange::Aside { path, aside } => Some(renamed(path, aside.to)),
                FileChange::Whole { .. } | FileChange::Block { .. } => None,
            });
            let then = configure.then.iter().map(|reread| match reread {
                Reread::Units => "let systemd read its files again".to_owned(),
                Reread::Interface(change) => interface(change),
            });
            return moved.chain(then).collect();
        }
        Step::Sysctl { name, value } => format!("set {name} from {} to {}", value.from, value.to),
        Step::Module { name, loaded } => {
            let verb = if loaded.to { "load" } else { "unload" };
            format!("{verb} the module {name}")
        }
        Step::Packages { names, installed } => {
            let verb = if installed.to { "install" } else { "remove" };
            format!("{verb} {}", names.join(", "))
        }
        Step::Unit { name, enabled } => {
            let verb = if enabled.to {
                "start"
            } else {
                "no longer start"
            };
            format!("{verb} {name} at boot")
        }
        Step::TimeService { on } => {
            let verb = if on.to { "start" } else { "stop" };
            format!("{verb} the installed time service, now and at boot")
        }
        Step::Pfc {
            interface,
            priorities,
        } => format!(
            "{interface}: priority flow control on {} instead of {} (the link bounces)",
            list(&priorities.to),
            list(&priorities.from)
        ),
        Step::Trust { interface, trust } => {
            format!("{interface}: trust {} instead of {}", trust.to, trust.from)
        }
        Step::Dscp {
            interface,
            dscp,
            priority,
        } => {
            let to = priority
                .to
                .map_or("nothing".to_owned(), |to| format!("priority {to}"));
            format!("{interface}: map DSCP {dscp} to {to}")
        }
        Step::Ecn {
            interface,
            point,
            priority,
            enabled,
        } => {
            let verb = if enabled.to { "turn on" } else { "turn off" };
            let side = match point {
                EcnPoint::Notification => "telling of congestion",
                EcnPoint::Reaction => "heeding congestion",
            };
            format!("{interface}: {verb} {side} (ECN) on priority {priority}")
        }
        Step::TrafficClass {
            device,
            port,
            class,
        } => format!(
            "{device} port {port}: traffic class {} instead of {}",
            class.to, class.from
        ),
        Step::RoceMode { device, port, mode } => format!(
            "{device} port {port}: {} for RDMA-CM instead of {}",
            mode.to, mode.from
        ),
        Step::Link { interface, up } => {
            let state = if up.to { "up" } else { "down" };
            format!("take {interface} {state}")
        }
    };
    vec![one]
}

fn interface(change: &InterfaceChange) -> String {
    let mut what = Vec::new();
    if change.addresses.from != change.addresses.to {
        what.push(format!(
            "{} instead of {}",
            addresses(&change.addresses.to),
            addresses(&change.addresses.from)
        ));
    }
    if let (Some(to), true) = (change.mtu.to, change.mtu.from != change.mtu.to) {
        let from = change
            .mtu
            .from
            .map_or("?".to_owned(), |mtu| mtu.to_string());
        what.push(format!("MTU {to} instead of {from}"));
    }
    if what.is_empty() {
        what.push("addresses and MTU stay".to_owned());
    }
    format!(
        "configure {} anew, by {}: {}",
        change.name,
        change.by,
        what.join(", ")
    )
}

fn addresses<T: Display>(items: &[T]) -> String {
    match items {
        [] => "no address".to_owned(),
        items => list(items),
    }
}

fn list<T: Display>(items: &[T]) -> String {
    match items {
        [] => "none".to_owned(),
        items => {
            let words: Vec<String> = items.iter().map(ToString::to_string).collect();
            words.join(" ")
        }
    }
}
