//! How a node's way out is seen to be still there.

use std::{collections::BTreeSet, net::IpAddr};

use crosstie_model::{Facts, change::ReachabilityProbe};

/// What a node may be asked before and after a change: whether its way out is still there.
pub fn management_probes(facts: &Facts) -> Vec<ReachabilityProbe> {
    let routes = facts.network.routes.known().into_iter().flatten();
    let gateways: BTreeSet<(IpAddr, &str)> = routes
        .filter(|route| route.destination.is_none() && route.table == "main")
        .filter_map(|route| Some((route.gateway?, route.interface.as_deref()?)))
        .collect();
    let probe = |(address, interface): (IpAddr, &str)| ReachabilityProbe::Ping {
        address,
        interface: Some(interface.to_owned()),
        bytes: None,
    };
    gateways.into_iter().map(probe).collect()
}

#[cfg(test)]
mod tests {
    use crosstie_facts::{CaptureEntry, RawCapture};

    use super::*;

    #[test]
    fn the_way_out_is_what_management_is_probed_by() {
        let mut raw = RawCapture::default();
        let routes = r#"[
            {"dst":"default","gateway":"192.168.1.1","dev":"wlan0","metric":600},
            {"dst":"default","gateway":"192.168.1.1","dev":"eth0","metric":100},
            {"dst":"default","gateway":"192.168.1.1","dev":"eth0","metric":200},
            {"dst":"default","gateway":"fe80::1","dev":"eth0"},
            {"dst":"default","dev":"tun0"},
            {"dst":"default","gateway":"10.77.0.9","dev":"rail0","table":"100"},
            {"dst":"10.0.0.0/8","gateway":"10.77.0.9","dev":"rail0"}]"#;
        raw.insert_command("ip-route.json", CaptureEntry::File(routes.into()));
        let probes = management_probes(&crosstie_facts::facts(&raw));
        let gateway = |address: &str, interface: &str| ReachabilityProbe::Ping {
            address: address.parse().unwrap(),
            interface: Some(interface.to_owned()),
            bytes: None,
        };
        let expected = [
            gateway("192.168.1.1", "eth0"),
            gateway("192.168.1.1", "wlan0"),
            gateway("fe80::1", "eth0"),
        ];
        assert_eq!(probes, expected);
    }
}
