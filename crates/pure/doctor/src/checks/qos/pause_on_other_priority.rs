//! Pause frames flow, and not on the priority that RDMA uses.

use super::switched;
use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, ExaminedPort, explains,
    growth::all_grown, word,
};
use crosstie_model::facts::net::Interface;

pub(super) const CHECK: Check = Check {
    id: "pause-on-other-priority",
    title: "Pause frames flow on another priority than RDMA's",
    severity: "warning",
    fires: "Between two readings, pause counters of a port on a switch grew for a priority other than the RDMA one, or \
        for global pause though that is off here.",
    reads: &["ethtool -S IF (rx_prioN_pause, tx_prioN_pause, rx_global_pause, tx_global_pause)"],
    cause: "host and switch disagree on the lossless priority, or on priority or global flow control",
    meaning: "Somebody asks for silence on a class that carries no RDMA, while the class that does is not protected; or \
        the switch stops the whole port with global pause, management and all.",
    fix: "Use one kind of flow control, on one priority, on all hosts and switch ports.",
    verify: "Under load only the counters of the RDMA priority grow.",
    explained_by: &[
        explains("pfc-wrong-priority", CauseScope::Cage),
        explains("pfc-off", CauseScope::Port),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let ports: Vec<(&ExaminedPort, &Interface)> = switched(node).collect();
    ports
        .into_iter()
        .filter_map(|(_, netdev)| hit(node, netdev))
        .collect()
}

fn hit(node: &ExaminedNode, netdev: &Interface) -> Option<CheckHit> {
    let before = node.earlier?.network.interface(&netdev.name)?;
    let before = before.link.driver_counters.known()?;
    let now = netdev.link.driver_counters.known()?;
    let chosen = node.spec.and_then(|spec| spec.qos.as_ref());
    let lossless: Vec<u8> = match chosen {
        Some(qos) => vec![qos.priority],
        None => netdev.qos.pfc.known().cloned().unwrap_or_default(),
    };
    // With no priority to compare with, and global pause perhaps on, pause frames are as they should be.
    let global_is_wrong = !lossless.is_empty() || netdev.link.has_global_pause() == Some(false);
    let wrong = |name: &str| match paused(name) {
        Some(Pause::Global) => global_is_wrong,
        Some(Pause::Priority(priority)) => !lossless.is_empty() && !lossless.contains(&priority),
        None => false,
    };
    let mut grown = all_grown(before, now)
        .filter(|(name, _)| wrong(name))
        .peekable();
    grown.peek()?;
    let source = format!("ethtool -S {}", word(&netdev.name));
    let mut hit = CheckHit::warning(&netdev.name);
    for (name, growth) in grown {
        hit = hit.saw(name, format!("grew by {growth}"), source.as_str());
    }
    Some(hit.saw(
        "RDMA priority",
        super::priorities(&lossless),
        match chosen {
            Some(_) => "cluster file".to_owned(),
            None => format!("dcb pfc show dev {}", word(&netdev.name)),
        },
    ))
}

#[derive(Debug, PartialEq, Eq)]
enum Pause {
    Global,
    Priority(u8),
}

/// Counters of frames; those of durations and transitions only repeat them.
fn paused(counter: &str) -> Option<Pause> {
    let name = counter
        .strip_prefix("rx_")
        .or_else(|| counter.strip_prefix("tx_"))?;
    if name == "global_pause" {
        return Some(Pause::Global);
    }
    let priority = name.strip_prefix("prio")?.strip_suffix("_pause")?;
    priority
        .parse()
        .ok()
        .filter(|priority| *priority < 8)
        .map(Pause::Priority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frame_counters_count() {
        assert_eq!(paused("rx_prio3_pause"), Some(Pause::Priority(3)));
        assert_eq!(paused("tx_global_pause"), Some(Pause::Global));
        for other in [
            "rx_prio3_pause_duration",
            "rx_prio9_pause",
            "rx_pause_ctrl_phy",
            "prio3_pause",
        ] {
            assert_eq!(paused(other), None, "{other}");
        }
    }
}
