//! What is left of a port's rate once every packet has paid for its headers.

use crosstie_model::{
    Facts, Gbps, Mtu,
    facts::rdma::{GidKind, LinkLayer, RdmaPort},
};

/// Bytes on the wire around the payload of one RoCE v2 packet over IPv4: preamble 8, Ethernet 14, IP 20, UDP 8,
/// BTH 12, ICRC 4, FCS 4, gap 12.
const ROCE_IPV4: u32 = 82;
/// The same over IPv6.
const ROCE_IPV6: u32 = 102;
/// InfiniBand: LRH 8, BTH 12, ICRC 4, VCRC 2.
const INFINIBAND: u32 = 26;
const VLAN: u32 = 4;

/// Room that the kernel leaves for headers when it derives a RoCE path MTU (`iboe_get_mtu`).
const ROCE_RESERVE: u32 = 96;

/// The largest InfiniBand MTU that fits a netdev of this MTU; `None` below the smallest.
pub fn roce_path_mtu(netdev: Mtu) -> Option<Mtu> {
    [4096, 2048, 1024, 512, 256]
        .into_iter()
        .find(|mtu| netdev.0 >= mtu + ROCE_RESERVE)
        .map(Mtu)
}

/// The MTU that queue pairs of this port will use, from its own side.
pub fn path_mtu(facts: &Facts, port: &RdmaPort) -> Option<Mtu> {
    let netdev = port
        .netdev
        .known()
        .and_then(|name| facts.network.interface(name));
    let netdev_mtu = netdev.and_then(|netdev| netdev.mtu.known().copied());
    match port.link_layer.known()? {
        LinkLayer::Ethernet => roce_path_mtu(netdev_mtu?),
        // Sysfs does not tell it. IPoIB in datagram mode has the path's MTU less 4; without it, the usual 4096.
        LinkLayer::InfiniBand => match netdev_mtu {
            Some(Mtu(mtu @ 252..=4092)) => roce_path_mtu(Mtu(mtu + 4 + ROCE_RESERVE)),
            _ => Some(Mtu(4096)),
        },
        LinkLayer::Unknown(_) => None,
    }
}

/// The share of the port's rate that is payload, for messages much longer than a packet.
pub fn payload_rate(facts: &Facts, port: &RdmaPort) -> Option<Gbps> {
    let rate = port.rate.known()?;
    let payload = f64::from(path_mtu(facts, port)?.0);
    Some(Gbps(
        rate.0 * payload / (payload + f64::from(header_bytes(facts, port))),
    ))
}

/// Bytes on the wire around the payload of each packet.
pub fn header_bytes(facts: &Facts, port: &RdmaPort) -> u32 {
    if port.link_layer.known() == Some(&LinkLayer::InfiniBand) {
        return INFINIBAND;
    }
    // The GID that engines choose: RoCE v2 of an IPv4 address, else of a global IPv6 one.
    let v2 = |ipv4: bool| {
        port.gids.iter().find(|entry| {
            entry.kind.known() == Some(&GidKind::RoceV2)
                && !entry.gid.is_link_local()
                && entry.gid.address().is_ipv4() == ipv4
        })
    };
    let (base, used) = match (v2(true), v2(false)) {
        (Some(entry), _) => (ROCE_IPV4, Some(entry)),
        (None, Some(entry)) => (ROCE_IPV6, Some(entry)),
        (None, None) => (ROCE_IPV4, None),
    };
    let tagged = used
        .and_then(|entry| facts.network.interface(entry.netdev.known()?))
        .is_some_and(|netdev| netdev.vlan.known().is_some());
    base + if tagged { VLAN } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_mtu_follows_the_kernel() {
        let cases = [
            (9000, 4096),
            (4200, 4096),
            (4192, 4096),
            (4191, 2048),
            (2144, 2048),
            (2143, 1024),
            (1500, 1024),
        ];
        for (netdev, path) in cases {
            assert_eq!(roce_path_mtu(Mtu(netdev)), Some(Mtu(path)), "{netdev}");
        }
        assert_eq!(roce_path_mtu(Mtu(300)), None);
    }
}
