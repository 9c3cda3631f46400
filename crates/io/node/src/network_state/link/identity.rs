//! Which link of now is the one of before. Names are labels.

use crate::network_state::state::SavedLink;

/// Their MAC is that of a port or of the link below.
const BORROWED_MAC: [&str; 4] = ["bridge", "bond", "team", "vlan"];

impl SavedLink {
    /// Hardware keeps its own address whatever is set on top. `None` where the MAC says nothing about the link.
    fn identity(&self) -> Option<&[u8]> {
        let mac = match self.permanent_mac.0.as_slice() {
            [] => self.mac.0.as_slice(),
            permanent => permanent,
        };
        let is_own = !BORROWED_MAC.contains(&self.kind.as_str());
        (is_own && mac.iter().any(|byte| *byte != 0)).then_some(mac)
    }
}

/// What `before`, one of `all`, is now. Within a boot no index is given twice; otherwise, or where a driver made its card's
/// link anew, kind and MAC tell, and of virtual links, which anybody can make anew, the name.
pub(in crate::network_state) fn counterpart<'a>(
    before: &SavedLink,
    all: &[SavedLink],
    now: &'a [SavedLink],
    is_same_boot: bool,
) -> Option<&'a SavedLink> {
    let is_same = |one: &SavedLink, other: &SavedLink| {
        is_same_boot && one.index == other.index && one.kind == other.kind
    };
    if let Some(found) = now.iter().find(|link| is_same(link, before)) {
        return Some(found);
    }
    let mut free = now
        .iter()
        .filter(|link| link.kind == before.kind && !all.iter().any(|other| is_same(link, other)));
    let Some(mac) = before.identity() else {
        return free.find(|link| link.name == before.name);
    };
    let alike: Vec<&SavedLink> = free
        .clone()
        .filter(|link| link.identity() == Some(mac))
        .collect();
    if let Some(found) = alike.iter().find(|link| link.name == before.name) {
        return Some(found);
    }
    let renamed = alike.into_iter().filter(|link| {
        let owner = all.iter().find(|other| other.name == link.name);
        owner.is_none_or(|owner| owner.kind != link.kind || owner.identity() != Some(mac))
    });
    if let [one] = renamed.collect::<Vec<_>>().as_slice() {
        return Some(one);
    }
    // Another card behind the same name is another card.
    let is_virtual = !before.kind.is_empty();
    free.find(|link| {
        let is_anothers = all.iter().any(|other| {
            other.name != before.name
                && other.kind == link.kind
                && other.identity().is_some()
                && other.identity() == link.identity()
        });
        is_virtual && link.name == before.name && !is_anothers
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network_state::raw_message::HexBytes;

    fn link(index: u32, name: &str, kind: &str, mac: u8) -> SavedLink {
        SavedLink {
            name: name.to_owned(),
            index,
            kind: kind.to_owned(),
            mac: HexBytes(vec![2, 0, 0, 0, 0, mac]),
            ..SavedLink::default()
        }
    }

    fn found(
        before: &[SavedLink],
        which: usize,
        now: &[SavedLink],
        is_same_boot: bool,
    ) -> Option<String> {
        counterpart(&before[which], before, now, is_same_boot).map(|link| link.name.clone())
    }

    #[test]
    fn cards_are_known_by_their_mac() {
        let before = [link(2, "eth0", "", 1), link(3, "eth1", "", 2)];
        // Names swapped at the next boot, and indexes with them.
        let swapped = [link(2, "eth0", "", 2), link(3, "eth1", "", 1)];
        assert_eq!(found(&before, 0, &swapped, false).as_deref(), Some("eth1"));
        assert_eq!(found(&before, 1, &swapped, false).as_deref(), Some("eth0"));
        // Another card in the slot.
        let replaced = [link(2, "eth0", "", 9)];
        assert_eq!(found(&before, 0, &replaced, false), None);
        // Within a boot the MAC may change, and a driver may make its link anew.
        assert_eq!(found(&before, 0, &replaced, true).as_deref(), Some("eth0"));
        let anew = [link(7, "rename7", "", 1)];
        assert_eq!(found(&before, 0, &anew, true).as_deref(), Some("rename7"));
    }

    #[test]
    fn a_bonds_ports_are_known_by_their_own_mac() {
        let port = |index, name, own| SavedLink {
            permanent_mac: HexBytes(vec![own]),
            ..link(index, name, "", 1)
        };
        let before = [port(2, "eth0", 1), port(3, "eth1", 2)];
        let now = [port(5, "eth1", 1), port(6, "eth0", 2)];
        assert_eq!(found(&before, 0, &now, false).as_deref(), Some("eth1"));
        assert_eq!(found(&before, 1, &now, false).as_deref(), Some("eth0"));
    }

    #[test]
    fn virtual_links_made_anew_are_known_by_their_name() {
        let before = [
            link(4, "br0", "bridge", 1),
            link(5, "br1", "bridge", 2),
            link(6, "veth0", "veth", 3),
        ];
        let now = [
            link(8, "br0", "bridge", 2),
            link(9, "br1", "bridge", 1),
            link(10, "veth0", "veth", 7),
        ];
        for (which, name) in [(0, "br0"), (1, "br1"), (2, "veth0")] {
            assert_eq!(found(&before, which, &now, true).as_deref(), Some(name));
        }
        // The same name on something else.
        let other = [link(8, "br0", "dummy", 1)];
        assert_eq!(found(&before, 0, &other, true), None);
    }
}
