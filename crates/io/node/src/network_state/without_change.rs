//! What the network is now, but for what one change has made of it.
//!
//! A change that was kept is undone long afterwards, when others have changed other things. So each thing is compared
//! three ways: what the change left as it was before stays as it is now.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    obstacle::NetworkRestoreObstacle,
    route,
    state::{NetworkState, SavedLink, SnapshotScope},
};

/// What the network is to be without a change.
#[derive(Debug)]
pub struct WithoutChange {
    pub state: NetworkState,
    /// What others have changed since, too: it stays.
    pub kept: Vec<String>,
    /// What the change has made of these parts cannot be told, so they stay.
    pub unread: Vec<NetworkRestoreObstacle>,
}

impl NetworkState {
    pub fn scope(&self) -> &SnapshotScope {
        &self.scope
    }

    pub fn is_of_boot(&self, boot: &str) -> bool {
        self.boot == boot
    }

    /// `self` is now. What the change has changed is as `before` again, unless others have changed it since: that stays, and
    /// is told. In another boot nothing can be compared, and `before` comes back as it is. All three have one scope.
    #[must_use]
    pub fn without_change(self, before: &Self, after: &Self) -> WithoutChange {
        if self.boot != before.boot {
            return WithoutChange {
                state: before.clone(),
                kept: Vec::new(),
                unread: Vec::new(),
            };
        }
        let mut kept = Vec::new();
        let unread = unread([before, after, &self], &mut kept);
        let links = links(
            [&before.links, &after.links, &self.links],
            &mut Changed(&mut kept),
        );
        let made = match (&before.links, &after.links) {
            (Some(before), Some(after)) => made(before, after),
            _ => BTreeSet::new(),
        };
        // What lies on a link that the change made goes with it.
        let stays = |indexes: &[u32]| !indexes.iter().any(|index| made.contains(index));
        let addresses = entries(
            [&before.addresses, &after.addresses, &self.addresses],
            |address| &address.message,
        );
        let routes = entries([&before.routes, &after.routes, &self.routes], |route| {
            (&route.message, route.by_kernel)
        });
        let state = Self {
            links,
            addresses: addresses.map(|mut addresses| {
                addresses.retain(|address| stays(&[address.index()]));
                addresses
            }),
            next_hops: entries(
                [&before.next_hops, &after.next_hops, &self.next_hops],
                |hop| hop,
            ),
            routes: routes.map(|mut routes| {
                routes.retain(|route| stays(&route::links(&route.message)));
                routes
            }),
            rules: entries([&before.rules, &after.rules, &self.rules], |rule| rule),
            sysctls: sysctls(
                [&before.sysctls, &after.sysctls, &self.sysctls],
                &mut Changed(&mut kept),
            ),
            nftables: tables(
                [&before.nftables, &after.nftables, &self.nftables],
                ("the nftables table", &mut kept),
            ),
            iptables: tables(
                [&before.iptables, &after.iptables, &self.iptables],
                ("the iptables table", &mut kept),
            ),
            ip6tables: tables(
                [&before.ip6tables, &after.ip6tables, &self.ip6tables],
                ("the ip6tables table", &mut kept),
            ),
            scope: self.scope,
            boot: self.boot,
        };
        WithoutChange {
            state,
            kept,
            unread,
        }
    }
}

/// The parts that cannot be compared. One that the change is known to have left alone is none, and one that nobody knows how
/// it was is kept.
fn unread(
    [before, after, now]: [&NetworkState; 3],
    kept: &mut Vec<String>,
) -> Vec<NetworkRestoreObstacle> {
    let mut unread = Vec::new();
    let mut compare = |what, is_read: [bool; 3], is_left_alone| {
        let stays = |when| NetworkRestoreObstacle::NotCompared { what, when };
        match is_read {
            [true, true, true] => {}
            [true, true, false] if is_left_alone => {}
            [false, _, _] => kept.push(stays("before the change").to_string()),
            [_, false, _] => unread.push(stays("after the change")),
            [_, _, false] => unread.push(stays("now")),
        }
    };
    macro_rules! compare {
        ($($what:literal: $part:ident by $read:ident,)+) => {
            $(compare(
                $what,
                [before.$read.is_some(), after.$read.is_some(), now.$read.is_some()],
                before.$part == after.$part,
            );)+
        };
    }
    compare! {
        "links": links by links,
        "addresses": addresses by addresses,
        "next hops": next_hops by next_hops,
        "routes": routes by routes,
        "routing rules": rules by rules,
        // They are read by the names of links.
        "settings of interfaces": sysctls by links,
    }
    if before.scope == SnapshotScope::Everything {
        compare! {
            "firewall's nftables tables": nftables by nftables,
            "firewall's iptables tables": iptables by iptables,
            "firewall's ip6tables tables": ip6tables by ip6tables,
        }
    }
    unread
}

/// What stays as it is since others changed it, too.
struct Changed<'a>(&'a mut Vec<String>);

impl Changed<'_> {
    /// The value to have: before the change, after it, now.
    fn pick<'a, T: PartialEq + ?Sized>(
        &mut self,
        [before, after, now]: [&'a T; 3],
        what: impl FnOnce() -> String,
    ) -> &'a T {
        if before == after || now == before {
            return now;
        }
        if now == after {
            return before;
        }
        self.0
            .push(format!("{} was changed since, and stays as it is", what()));
        now
    }
}

/// Things that are there or not, and have no value besides. A part that was not read once is left alone.
fn entries<'a, T: Clone, K: Ord>(
    [before, after, now]: [&'a Option<Vec<T>>; 3],
    key: impl Fn(&'a T) -> K,
) -> Option<Vec<T>> {
    let (Some(before), Some(after), Some(now)) = (before, after, now) else {
        return None;
    };
    let keys = |entries: &'a [T]| entries.iter().map(&key).collect::<BTreeSet<K>>();
    let (was, left, is) = (keys(before), keys(after), keys(now));
    let restored = before.iter().filter(|entry| {
        let key = key(entry);
        is.contains(&key) || !left.contains(&key)
    });
    let others = now.iter().filter(|entry| {
        let key = key(entry);
        !was.contains(&key) && !left.contains(&key)
    });
    Some(restored.chain(others).cloned().collect())
}

/// Links of `after` alone.
fn made(before: &[SavedLink], after: &[SavedLink]) -> BTreeSet<u32> {
    let before: BTreeSet<u32> = before.iter().map(|link| link.index).collect();
    let after = after.iter().map(|link| link.index);
    after.filter(|index| !before.contains(index)).collect()
}

fn links(
    [before, after, now]: [&Option<Vec<SavedLink>>; 3],
    changed: &mut Changed<'_>,
) -> Option<Vec<SavedLink>> {
    let (Some(before), Some(after), Some(now)) = (before, after, now) else {
        return None;
    };
    let made = made(before, after);
    let find = |links: &'_ [SavedLink], index: u32| -> Option<SavedLink> {
        links.iter().find(|link| link.index == index).cloned()
    };
    let deleted = before
        .iter()
        .filter(|old| find(after, old.index).is_none() && find(now, old.index).is_none());
    let there = now.iter().filter(|link| !made.contains(&link.index));
    let there = there.map(
        |link| match (find(before, link.index), find(after, link.index)) {
            (Some(before), Some(after)) => merged(&before, &after, link, changed),
            _ => link.clone(),
        },
    );
    let there: Vec<SavedLink> = there.collect();
    Some(deleted.cloned().chain(there).collect())
}

fn merged(
    before: &SavedLink,
    after: &SavedLink,
    now: &SavedLink,
    changed: &mut Changed<'_>,
) -> SavedLink {
    let mut link = now.clone();
    macro_rules! pick {
        ($($field:ident: $what:literal),*) => {
            $(link.$field = changed
                .pick([&before.$field, &after.$field, &now.$field], || format!("{} of {}", $what, now.name))
                .clone();)*
        };
    }
    pick!(mac: "the MAC address", up: "the state", mtu: "the MTU", options: "an option", master: "the master",
        settings: "a setting", port_settings: "a setting as a port");
    link
}

type Sysctls = BTreeMap<String, BTreeMap<String, String>>;

fn sysctls([before, after, now]: [&Sysctls; 3], changed: &mut Changed<'_>) -> Sysctls {
    let mut wanted = now.clone();
    for (interface, old) in before {
        let (Some(left), Some(is)) = (after.get(interface), wanted.get_mut(interface)) else {
            // The change has deleted it: it comes again with what it had.
            if !after.contains_key(interface) && !now.contains_key(interface) {
                wanted.insert(interface.clone(), old.clone());
            }
            continue;
        };
        for (path, value) in is {
            if let (Some(old), Some(left)) = (old.get(path), left.get(path)) {
                let picked = changed.pick([old, left, value], || {
                    format!("the sysctl {path} of {interface}")
                });
                *value = picked.clone();
            }
        }
    }
    wanted.retain(|interface, _| before.contains_key(interface) || !after.contains_key(interface));
    wanted
}

type Tables = Option<BTreeMap<String, String>>;

fn tables([before, after, now]: [&Tables; 3], (kind, kept): (&str, &mut Vec<String>)) -> Tables {
    let (Some(before), Some(after), Some(now)) = (before, after, now) else {
        return None;
    };
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let wanted = names.into_iter().filter_map(|name| {
        let three = [&before.get(name), &after.get(name), &now.get(name)];
        let text = Changed(kept).pick(three, || format!("{kind} {name}"));
        text.map(|text| (name.clone(), text.clone()))
    });
    Some(wanted.collect())
}

#[cfg(test)]
mod tests;
