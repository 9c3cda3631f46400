//! Packet filters. Their own programs read and write them: a rule's binary form is theirs.

mod iptables;
mod nftables;

use std::{collections::BTreeMap, time::Duration};

use super::{obstacle::NetworkRestoreObstacle, state::NetworkState};
use crate::command::CommandLimits;

/// Text by table.
type Tables = BTreeMap<String, String>;

/// A ruleset of many thousand elements takes seconds.
const BOUNDS: CommandLimits = CommandLimits {
    deadline: Duration::from_secs(20),
    output: 16 << 20,
};

pub(super) fn read(state: &mut NetworkState) -> Vec<NetworkRestoreObstacle> {
    let mut obstacles = Vec::new();
    match nftables::read() {
        Ok(tables) => {
            obstacles.extend(nftables::unwritable(&tables));
            state.nftables = Some(tables);
        }
        Err(obstacle) => obstacles.push(obstacle),
    }
    let legacy = [
        (&iptables::IPV4, &mut state.iptables),
        (&iptables::IPV6, &mut state.ip6tables),
    ];
    for (family, kept) in legacy {
        match iptables::read(family) {
            Ok(tables) => *kept = Some(tables),
            Err(obstacle) => obstacles.push(obstacle),
        }
    }
    obstacles
}

pub(super) fn restore(before: &NetworkState, changes: &mut usize) -> Vec<NetworkRestoreObstacle> {
    let mut obstacles = Vec::new();
    if let Some(tables) = &before.nftables {
        obstacles.extend(nftables::restore(tables, changes).err());
    }
    let legacy = [
        (&iptables::IPV4, &before.iptables),
        (&iptables::IPV6, &before.ip6tables),
    ];
    for (family, tables) in legacy {
        if let Some(tables) = tables {
            obstacles.extend(iptables::restore(family, tables, changes).err());
        }
    }
    obstacles
}

fn list(tables: &[&str]) -> String {
    match tables {
        [one] => format!("table {one}"),
        several => format!("tables {}", several.join(", ")),
    }
}
