//! Keeps the state. What cannot be read is an obstacle, and is left alone by a restore.

use super::{
    address, firewall,
    interfaces::LinkCoverage,
    kernel::KernelNetwork,
    link, next_hop,
    obstacle::NetworkRestoreObstacle,
    route,
    rule::{self, RuleCoverage},
    state::{NetworkState, SavedLink, SnapshotScope},
    sysctl,
};
use crate::{boot_id, netlink::NetlinkError};

/// Whether it can be restored is known before anything is changed: obstacles say what cannot.
pub fn snapshot(scope: &SnapshotScope) -> (NetworkState, Vec<NetworkRestoreObstacle>) {
    let mut state = NetworkState {
        scope: scope.clone(),
        boot: boot_id(),
        ..NetworkState::default()
    };
    let mut obstacles = Vec::new();
    if let Err(obstacle) = routing(&mut state, &mut obstacles) {
        obstacles.push(obstacle);
    }
    if *scope == SnapshotScope::Everything {
        obstacles.extend(firewall::read(&mut state));
    }
    (state, obstacles)
}

fn routing(
    state: &mut NetworkState,
    obstacles: &mut Vec<NetworkRestoreObstacle>,
) -> Result<(), NetworkRestoreObstacle> {
    let mut kernel = KernelNetwork::open().map_err(unread("the network's state", "socket"))?;
    let links = link::read(&mut kernel).map_err(unread("links", "RTM_GETLINK"))?;
    if let SnapshotScope::Interfaces(names) = &state.scope {
        let known = |name: &&String| !links.iter().any(|link| link.name == **name);
        obstacles.extend(
            names
                .iter()
                .filter(known)
                .map(|name| NetworkRestoreObstacle::Gone {
                    what: "all settings".to_owned(),
                    interface: name.clone(),
                }),
        );
    }
    let coverage = LinkCoverage::of(&state.scope, &links);
    let mut keep = Keep(obstacles);
    let read = address::read(&mut kernel, &coverage);
    state.addresses = keep.known(read, "addresses", "RTM_GETADDR");
    let read = next_hop::read(&mut kernel, &coverage);
    state.next_hops = keep.known(read, "next hops", "RTM_GETNEXTHOP");
    let numbers = next_hop::numbers(state.next_hops.as_deref().unwrap_or_default());
    let read = route::read(&mut kernel, &coverage, &numbers);
    state.routes = keep.known(read, "routes", "RTM_GETROUTE");
    let rules = rule_coverage(&coverage, &links, state);
    let read = rule::read(&mut kernel, &rules);
    state.rules = keep.known(read, "rules", "RTM_GETRULE");
    let covered = links.iter().filter(|link| coverage.covers(link.index));
    let mut names: Vec<&str> = covered.map(|link| link.name.as_str()).collect();
    if coverage.is_everything() {
        names.extend(sysctl::SHARED);
    }
    let values = names
        .iter()
        .map(|name| ((*name).to_owned(), sysctl::read(name)));
    state.sysctls = values.collect();
    state.links = Some(links);
    Ok(())
}

struct Keep<'a>(&'a mut Vec<NetworkRestoreObstacle>);

impl Keep<'_> {
    fn known<T>(
        &mut self,
        read: Result<T, NetlinkError>,
        what: &'static str,
        call: &'static str,
    ) -> Option<T> {
        read.map_err(|source| {
            self.0
                .push(NetworkRestoreObstacle::Unread { what, call, source });
        })
        .ok()
    }
}

fn rule_coverage(
    coverage: &LinkCoverage,
    links: &[SavedLink],
    state: &NetworkState,
) -> RuleCoverage {
    let covered = links.iter().filter(|link| coverage.covers(link.index));
    let addresses = state.addresses.iter().flatten();
    RuleCoverage::new(
        coverage,
        covered.map(|link| link.name.clone()),
        addresses.filter_map(super::state::SavedAddress::ip),
    )
}

pub(super) fn unread(
    what: &'static str,
    call: &'static str,
) -> impl Fn(NetlinkError) -> NetworkRestoreObstacle {
    move |source| NetworkRestoreObstacle::Unread { what, call, source }
}
