//! Restores a state, in the order in which one thing needs another.

use std::net::IpAddr;

use super::{
    address, firewall,
    interfaces::LinkMapping,
    kernel::KernelNetwork,
    link, next_hop,
    obstacle::NetworkRestoreObstacle,
    route,
    rule::{self, RuleCoverage},
    snapshot::unread,
    state::{NetworkState, SavedAddress, SnapshotScope},
    sysctl,
};
use crate::{boot_id, netlink::NetlinkError};

#[derive(Debug, Default)]
pub struct NetworkRestoreResult {
    /// Messages to the kernel, settings written and programs run, each of which changes something or was refused.
    pub changes: usize,
    pub obstacles: Vec<NetworkRestoreObstacle>,
}

/// Restores what differs and can be restored. Whatever is in the way is told, and the rest is done all the same.
pub fn restore(before: &NetworkState) -> Vec<NetworkRestoreObstacle> {
    restore_and_count(before).obstacles
}

/// [`restore`], with the number of changes: none where all is as it was.
pub fn restore_and_count(before: &NetworkState) -> NetworkRestoreResult {
    let mut restored = NetworkRestoreResult::default();
    if before.scope == SnapshotScope::Everything && before.boot != boot_id() {
        restored.obstacles.push(NetworkRestoreObstacle::Restarted);
        return restored;
    }
    let mut work = match KernelNetwork::open() {
        Ok(kernel) => before.links.is_some().then(|| Work::new(kernel, before)),
        Err(error) => {
            let obstacle = unread("the network's state", "socket")(error);
            restored.obstacles.push(obstacle);
            None
        }
    };
    if let Some(work) = &mut work
        && let Err(obstacle) = work.routing()
    {
        work.restored.obstacles.push(obstacle);
    }
    if before.scope == SnapshotScope::Everything {
        let told = firewall::restore(before, &mut restored.changes);
        if let Some(work) = &mut work {
            work.restored.obstacles.extend(told);
            work.delete_new_links();
        } else {
            restored.obstacles.extend(told);
        }
    }
    if let Some(work) = work {
        restored.changes += work.restored.changes + work.kernel.changes;
        restored.obstacles.extend(work.restored.obstacles);
    }
    restored
}

struct Work<'a> {
    kernel: KernelNetwork,
    before: &'a NetworkState,
    restored: NetworkRestoreResult,
}

impl<'a> Work<'a> {
    fn new(kernel: KernelNetwork, before: &'a NetworkState) -> Self {
        Self {
            kernel,
            before,
            restored: NetworkRestoreResult::default(),
        }
    }

    /// Without the links nothing can be named; that alone ends it.
    fn routing(&mut self) -> Result<(), NetworkRestoreObstacle> {
        let before = self.before;
        let rules = self.rule_coverage()?;
        if before.scope == SnapshotScope::Everything {
            let done = link::create::create_missing(&mut self.kernel, before);
            self.tell(done, "links", "RTM_GETLINK");
        }
        let now = self.interfaces()?;
        let told = link::settings::missing(before, &now);
        self.restored.obstacles.extend(told);
        let told = link::settings::restore_masters(&mut self.kernel, before, &now);
        self.restored.obstacles.extend(told);
        let now = self.interfaces()?;
        let told = link::settings::restore_settings(&mut self.kernel, before, &now);
        self.restored.obstacles.extend(told);
        let now = self.interfaces()?;
        let told = sysctl::restore(before, &now, &mut self.restored.changes);
        self.restored.obstacles.extend(told);
        let told = std::mem::take(&mut self.restored.obstacles);
        self.addressing(&now);
        let is_refused = !self
            .restored
            .obstacles
            .iter()
            .all(NetworkRestoreObstacle::is_left);
        let addressing = std::mem::replace(&mut self.restored.obstacles, told);
        if let Some(wanted) = &before.rules {
            let done = rule::restore(&mut self.kernel, wanted, &rules);
            self.tell(done, "rules", "RTM_GETRULE");
        }
        // The kernel looks for a gateway by the rules, so those of now may have been in the way.
        if is_refused {
            self.addressing(&now);
        } else {
            self.restored.obstacles.extend(addressing);
        }
        Ok(())
    }

    fn delete_new_links(&mut self) {
        let done = link::settings::delete_new(&mut self.kernel, self.before);
        self.tell(done, "links", "RTM_GETLINK");
    }

    fn addressing(&mut self, now: &LinkMapping) {
        let before = self.before;
        if let Some(wanted) = &before.addresses {
            let done = address::restore(&mut self.kernel, wanted, now);
            self.tell(done, "addresses", "RTM_GETADDR");
        }
        let wanted = before.next_hops.as_deref().unwrap_or_default();
        if before.next_hops.is_some() {
            let done = next_hop::restore(&mut self.kernel, wanted, now);
            self.tell(done, "next hops", "RTM_GETNEXTHOP");
        }
        if let Some(routes) = &before.routes {
            let done = route::restore(&mut self.kernel, routes, now, wanted);
            self.tell(done, "routes", "RTM_GETROUTE");
        }
    }

    fn interfaces(&mut self) -> Result<LinkMapping, NetworkRestoreObstacle> {
        let read = LinkMapping::read(&mut self.kernel, self.before);
        read.map_err(unread("links", "RTM_GETLINK"))
    }

    fn tell(
        &mut self,
        done: Result<Vec<NetworkRestoreObstacle>, NetlinkError>,
        what: &'static str,
        call: &'static str,
    ) {
        match done {
            Ok(obstacles) => self.restored.obstacles.extend(obstacles),
            Err(error) => self.restored.obstacles.push(unread(what, call)(error)),
        }
    }

    /// Rules from addresses that were added since are known by those addresses, which go first.
    fn rule_coverage(&mut self) -> Result<RuleCoverage, NetworkRestoreObstacle> {
        let now = self.interfaces()?;
        let added = address::read(&mut self.kernel, &now.coverage).unwrap_or_default();
        let kept = self.before.addresses.iter().flatten();
        let addresses: Vec<IpAddr> = added
            .iter()
            .chain(kept)
            .filter_map(SavedAddress::ip)
            .collect();
        let names: Vec<String> = match &self.before.scope {
            SnapshotScope::Everything => Vec::new(),
            SnapshotScope::Interfaces(names) => names.clone(),
        };
        let covered = now
            .now
            .iter()
            .filter(|link| now.coverage.covers(link.index));
        let renamed = covered.map(|link| link.name.clone());
        let names = names.into_iter().chain(renamed);
        Ok(RuleCoverage::new(
            &now.coverage,
            names,
            addresses.into_iter(),
        ))
    }
}
