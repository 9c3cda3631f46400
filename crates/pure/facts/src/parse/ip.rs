//! The shapes that `ip -j` prints.

use std::net::IpAddr;

use crosstie_model::{
    Reading,
    facts::net::{InterfaceAddress, IpRoute, NeighbourEntry, RoutingRule},
};
use ipnet::IpNet;
use serde_json::Value;

use super::{json_array, number, string};
use crate::RawCapture;

pub(super) fn links(raw: &RawCapture) -> Reading<Vec<Value>> {
    json_array(raw, "ip-addr.json")
}

pub(super) fn addresses(link: &Value) -> Vec<InterfaceAddress> {
    let infos = link.get("addr_info").and_then(Value::as_array);
    infos
        .into_iter()
        .flatten()
        .filter_map(|info| {
            let address: IpAddr = info.get("local")?.as_str()?.parse().ok()?;
            Some(InterfaceAddress {
                net: IpNet::new(address, number(info, "prefixlen")?).ok()?,
                scope: string(info, "scope").unwrap_or_default(),
                dynamic: info
                    .get("dynamic")
                    .and_then(Value::as_bool)
                    .unwrap_or(false),
            })
        })
        .collect()
}

pub(super) fn routes(raw: &RawCapture) -> Reading<Vec<IpRoute>> {
    json_array(raw, "ip-route.json").map(|routes| routes.iter().flat_map(route).collect())
}

/// A route with several next hops counts once for each of them.
fn route(value: &Value) -> Vec<IpRoute> {
    // Addresses of our own and broadcasts are not ways to anywhere.
    let kind = value
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("unicast");
    let Some(destination) = value.get("dst").and_then(Value::as_str) else {
        return Vec::new();
    };
    let destination = match destination {
        "default" => None,
        prefix => match network(prefix) {
            Some(net) => Some(net),
            None => return Vec::new(),
        },
    };
    if kind != "unicast" {
        return Vec::new();
    }
    let hop = |hop: &Value| IpRoute {
        destination,
        gateway: address(hop, "gateway").or_else(|| address(hop.get("via")?, "host")),
        interface: string(hop, "dev"),
        source: address(value, "prefsrc"),
        metric: number(value, "metric").unwrap_or(0),
        table: table(value),
        protocol: string(value, "protocol"),
    };
    match value.get("nexthops").and_then(Value::as_array) {
        Some(hops) => hops.iter().map(hop).collect(),
        None => vec![hop(value)],
    }
}

pub(super) fn rules(raw: &RawCapture) -> Reading<Vec<RoutingRule>> {
    json_array(raw, "ip-rule.json").map(|rules| rules.iter().filter_map(rule).collect())
}

fn rule(value: &Value) -> Option<RoutingRule> {
    let end = |key: &str, length: &str| {
        let text = value.get(key)?.as_str().filter(|text| *text != "all")?;
        let bits = value.get(length).and_then(Value::as_u64);
        match bits {
            Some(bits) => network(&format!("{text}/{bits}")),
            None => network(text),
        }
    };
    Some(RoutingRule {
        priority: number(value, "priority")?,
        from: end("src", "srclen"),
        to: end("dst", "dstlen"),
        interface: string(value, "iif").or_else(|| string(value, "oif")),
        table: table(value),
    })
}

pub(super) fn neighbours(raw: &RawCapture) -> Reading<Vec<NeighbourEntry>> {
    json_array(raw, "ip-neigh.json").map(|entries| entries.iter().filter_map(neighbour).collect())
}

fn neighbour(value: &Value) -> Option<NeighbourEntry> {
    let states = value.get("state").and_then(Value::as_array);
    Some(NeighbourEntry {
        address: address(value, "dst")?,
        // iproute2 6.1 leaves `dev` out when it was asked about one device.
        interface: string(value, "dev"),
        mac: string(value, "lladdr").and_then(|mac| mac.parse().ok()),
        state: states
            .into_iter()
            .flatten()
            .filter_map(|state| state.as_str().map(str::to_owned))
            .collect(),
    })
}

fn address(value: &Value, key: &str) -> Option<IpAddr> {
    value.get(key)?.as_str()?.parse().ok()
}

/// A prefix, or an address that stands for itself alone.
fn network(text: &str) -> Option<IpNet> {
    text.parse()
        .ok()
        .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// A name (`main`, `local`) or a number; `ip` prints none for the main table.
fn table(value: &Value) -> String {
    match value.get("table") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => "main".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn routes_come_with_each_of_their_next_hops() {
        let value = json!({"dst": "default", "metric": 20, "flags": [], "nexthops": [
            {"gateway": "10.0.0.1", "dev": "a"}, {"via": {"family": "inet6", "host": "fe80::1"}, "dev": "b"}]});
        let routes = route(&value);
        assert_eq!(routes.len(), 2);
        assert_eq!(routes[1].gateway, Some("fe80::1".parse().unwrap()));
        assert!(
            routes
                .iter()
                .all(|route| route.destination.is_none() && route.metric == 20)
        );
        assert!(route(&json!({"type": "broadcast", "dst": "10.0.0.255", "dev": "a"})).is_empty());
        assert!(route(&json!({"dst": 7})).is_empty());
    }

    #[test]
    fn rules_know_their_selectors() {
        let parsed =
            rule(&json!({"priority": 100, "src": "10.0.0.0", "srclen": 24, "table": "fabric"}))
                .unwrap();
        assert_eq!(parsed.from, Some("10.0.0.0/24".parse().unwrap()));
        assert_eq!(
            rule(&json!({"priority": 0, "src": "all", "table": "local"}))
                .unwrap()
                .from,
            None
        );
    }
}
