//! Which of many subnets overlap a given one.

use std::{collections::BTreeMap, net::IpAddr};

use ipnet::IpNet;

/// Places of subnets in the list that they came from, by first address and length. Of two subnets that overlap, one contains
/// the other.
#[derive(Default)]
pub(crate) struct SubnetOverlaps(BTreeMap<(IpAddr, u8), Vec<usize>>);

impl SubnetOverlaps {
    pub(crate) fn new(nets: impl Iterator<Item = IpNet>) -> Self {
        let mut overlaps = Self::default();
        for (place, net) in nets.enumerate() {
            overlaps.insert(net, place);
        }
        overlaps
    }

    pub(crate) fn insert(&mut self, net: IpNet, place: usize) {
        let key = (net.network(), net.prefix_len());
        self.0.entry(key).or_default().push(place);
    }

    /// In the order of the list.
    pub(crate) fn of(&self, net: &IpNet) -> Vec<usize> {
        let (first, last) = (net.network(), net.broadcast());
        let inside = self.0.range((first, 0)..=(last, u8::MAX));
        let wider = (0..net.prefix_len()).filter_map(|length| {
            let wider = IpNet::new(first, length).ok()?.network();
            // Those that start where the subnet does are among the others.
            self.0.get(&(wider, length)).filter(|_| wider != first)
        });
        let inside = inside.map(|(_, places)| places);
        let mut found: Vec<usize> = inside.chain(wider).flatten().copied().collect();
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::overlap;

    #[test]
    fn the_same_as_by_comparing_each() {
        let nets = [
            "10.0.0.0/8",
            "10.1.0.0/16",
            "10.1.2.3/24",
            "10.1.2.128/25",
            "10.1.3.0/24",
            "0.0.0.0/0",
            "192.168.0.1/32",
            "fd00::/8",
            "fd00:1::/64",
            "10.1.2.3/24",
            "::/0",
        ];
        let nets: Vec<IpNet> = nets.iter().map(|net| net.parse().unwrap()).collect();
        let overlaps = SubnetOverlaps::new(nets.iter().copied());
        for net in &nets {
            let each = (0..nets.len()).filter(|place| {
                let same_family = nets[*place].addr().is_ipv4() == net.addr().is_ipv4();
                same_family && overlap(&nets[*place], net)
            });
            assert_eq!(overlaps.of(net), each.collect::<Vec<_>>(), "{net}");
        }
    }
}
