//! Whether a chain on the input hook lets a new TCP connection in, judged by its rules in nft's JSON.

use std::net::IpAddr;

use crosstie_model::facts::net::InputChain;
use ipnet::IpNet;
use serde_json::Value;

/// The first packet of a TCP connection that a peer opens: to some port, from somewhere in the subnet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstPacket<'a> {
    pub(crate) interface: &'a str,
    /// Our own address, with its prefix.
    pub(crate) to: IpNet,
}

/// What a condition says of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    Yes,
    /// It rests on something that cannot be seen from here, such as the members of a named set.
    Unclear,
    /// For some connections: certain ports, marks, a rate.
    Sometimes,
    No,
}

/// Ports that connections between nodes use: the kernel's own choice, unless someone narrowed it.
const EPHEMERAL: (u64, u64) = (32768, 60999);

/// A chain with its rules read.
pub(crate) struct ChainEvaluator<'a> {
    pub(crate) chain: &'a InputChain,
    rules: Vec<Vec<Value>>,
    /// What no rule lets in stays out.
    closed: bool,
}

impl<'a> ChainEvaluator<'a> {
    pub(crate) fn new(chain: &'a InputChain) -> Self {
        let rules: Vec<Vec<Value>> = chain
            .rules
            .iter()
            .filter_map(|rule| serde_json::from_str(rule).ok())
            .collect();
        Self {
            chain,
            closed: chain.policy == "drop" || ends_closed(&rules),
            rules,
        }
    }

    /// Whether the chain is sure to keep the packet out. A rule that lets it in only perhaps is taken to do so.
    pub(crate) fn blocks(&self, packet: FirstPacket) -> bool {
        let meant = match self.chain.family.as_str() {
            "ip" => packet.to.addr().is_ipv4(),
            "ip6" => packet.to.addr().is_ipv6(),
            family => family == "inet",
        };
        meant && self.closed && !self.rules.iter().any(|rule| lets_in(rule, packet))
    }
}

/// firewalld's way: the policy accepts, and the last rule turns away whatever is left.
fn ends_closed(rules: &[Vec<Value>]) -> bool {
    let has = |rule: &[Value], verdict: &str| rule.iter().any(|part| part.get(verdict).is_some());
    let returns = rules.iter().any(|rule| has(rule, "return"));
    let last = rules.last().is_some_and(|rule| {
        let conditional = ["match", "limit", "xt"].iter().any(|part| has(rule, part));
        !conditional && (has(rule, "drop") || has(rule, "reject"))
    });
    last && !returns
}

fn lets_in(rule: &[Value], packet: FirstPacket) -> bool {
    let mut holds = Holds::Yes;
    for part in rule {
        if let Some(condition) = part.get("match") {
            holds = holds.max(matches(condition, packet));
        } else if part.get("limit").is_some() {
            holds = holds.max(Holds::Sometimes);
        } else if let Some(extension) = part.get("xt") {
            holds = holds.max(of_extension(extension));
        } else if let Some(map) = part.get("vmap") {
            return holds <= Holds::Unclear && maps_to_accept(map, packet);
        } else if part.get("accept").is_some() {
            return holds <= Holds::Unclear;
        }
    }
    false
}

/// `iptables` extensions that nft cannot show, by their names.
fn of_extension(extension: &Value) -> Holds {
    match extension.get("name").and_then(Value::as_str) {
        Some("conntrack" | "state" | "tcp" | "multiport" | "limit" | "hashlimit" | "recent") => {
            Holds::Sometimes
        }
        Some("udp" | "icmp" | "icmp6") => Holds::No,
        _ => Holds::Unclear,
    }
}

/// `KEY vmap { ELEMENT : VERDICT, … }`
fn maps_to_accept(map: &Value, packet: FirstPacket) -> bool {
    let (Some(key), Some(data)) = (map.get("key"), map.get("data")) else {
        return false;
    };
    let Some(elements) = data.get("set").and_then(Value::as_array) else {
        // A named map: its members are not listed with the rule.
        return true;
    };
    elements.iter().any(|element| {
        let Some([wanted, verdict]) = element.as_array().map(Vec::as_slice) else {
            return false;
        };
        let lets = ["accept", "jump", "goto"]
            .iter()
            .any(|word| verdict.get(word).is_some());
        lets && compare(key, wanted, packet) <= Holds::Unclear
    })
}

fn matches(condition: &Value, packet: FirstPacket) -> Holds {
    let (Some(left), Some(right)) = (condition.get("left"), condition.get("right")) else {
        return Holds::Unclear;
    };
    match condition.get("op").and_then(Value::as_str) {
        Some("==" | "in") | None => compare(left, right, packet),
        Some("!=") => match compare(left, right, packet) {
            Holds::Yes => Holds::No,
            Holds::No => Holds::Yes,
            other => other,
        },
        _ => Holds::Sometimes,
    }
}

fn compare(left: &Value, right: &Value, packet: FirstPacket) -> Holds {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(meta) = left.get("meta") {
        return match text(meta, "key").as_deref() {
            Some("iifname" | "iif") => any(right, |one| is_interface(one, packet.interface)),
            Some("l4proto") => any(right, |one| is_one_of(one, &["tcp"], 6)),
            Some("nfproto") if packet.to.addr().is_ipv4() => {
                any(right, |one| is_one_of(one, &["ipv4"], 2))
            }
            Some("nfproto") => any(right, |one| is_one_of(one, &["ipv6"], 10)),
            Some("protocol") if packet.to.addr().is_ipv4() => {
                any(right, |one| is_one_of(one, &["ip"], 0x800))
            }
            Some("protocol") => any(right, |one| is_one_of(one, &["ip6"], 0x86dd)),
            Some("iifkind" | "iiftype" | "iifgroup" | "pkttype") => Holds::Unclear,
            _ => Holds::Sometimes,
        };
    }
    if let Some(payload) = left.get("payload") {
        let (protocol, field) = (text(payload, "protocol"), text(payload, "field"));
        return of_header(protocol.as_deref(), field.as_deref(), right, packet);
    }
    if let Some(track) = left.get("ct") {
        return match text(track, "key").as_deref() {
            Some("state") => any(right, |one| is_one_of(one, &["new"], 8)),
            _ => Holds::Sometimes,
        };
    }
    match left
        .get("fib")
        .and_then(|fib| text(fib, "result"))
        .as_deref()
    {
        Some("type") => any(right, |one| is_one_of(one, &["local", "unicast"], 2)),
        _ => Holds::Sometimes,
    }
}

fn of_header(
    protocol: Option<&str>,
    field: Option<&str>,
    right: &Value,
    packet: FirstPacket,
) -> Holds {
    let wrong_family = match protocol {
        Some("ip") => packet.to.addr().is_ipv6(),
        Some("ip6") => packet.to.addr().is_ipv4(),
        _ => false,
    };
    if wrong_family {
        return Holds::No;
    }
    match (protocol, field) {
        // Some peers are let in by name: whoever wrote that has thought of the fabric.
        (Some("ip" | "ip6"), Some("saddr")) => any(right, |one| {
            of_range(one, |first, last| {
                first <= packet.to.broadcast() && last >= packet.to.network()
            })
        }),
        (Some("ip" | "ip6"), Some("daddr")) => any(right, |one| {
            of_range(one, |first, last| {
                (first..=last).contains(&packet.to.addr())
            })
        }),
        (Some("ip" | "ip6"), Some("protocol" | "nexthdr")) => {
            any(right, |one| is_one_of(one, &["tcp"], 6))
        }
        (Some("tcp" | "th"), Some("dport")) => any(right, covers_ephemeral),
        (Some("udp" | "icmp" | "icmpv6" | "sctp" | "esp" | "ah"), _) => Holds::No,
        _ => Holds::Sometimes,
    }
}

/// One value, or the best of a set or list of them.
fn any(right: &Value, one: impl Fn(&Value) -> Holds) -> Holds {
    let members = right.get("set").unwrap_or(right);
    if right.as_str().is_some_and(|name| name.starts_with('@'))
        || members.as_str().is_some_and(|name| name.starts_with('@'))
    {
        return Holds::Unclear;
    }
    match members {
        Value::Array(members) => {
            let inner = |member: &Value| one(member.pointer("/elem/val").unwrap_or(member));
            members.iter().map(inner).min().unwrap_or(Holds::No)
        }
        single => one(single),
    }
}

fn yes_or_no(yes: bool) -> Holds {
    if yes { Holds::Yes } else { Holds::No }
}

fn is_interface(wanted: &Value, interface: &str) -> Holds {
    let Some(wanted) = wanted.as_str() else {
        return Holds::Unclear;
    };
    yes_or_no(match wanted.strip_suffix('*') {
        Some(prefix) => interface.starts_with(prefix),
        None => interface == wanted,
    })
}

fn is_one_of(value: &Value, words: &[&str], number: u64) -> Holds {
    let word = value.as_str().is_some_and(|word| words.contains(&word));
    yes_or_no(word || value.as_u64() == Some(number))
}

fn of_range(value: &Value, test: impl Fn(IpAddr, IpAddr) -> bool) -> Holds {
    range(value).map_or(Holds::Unclear, |(first, last)| yes_or_no(test(first, last)))
}

/// An address, `{"prefix": {"addr", "len"}}` or `{"range": [first, last]}`.
fn range(value: &Value) -> Option<(IpAddr, IpAddr)> {
    let address = |value: &Value| value.as_str()?.parse::<IpAddr>().ok();
    if let Some(prefix) = value.get("prefix") {
        let length = u8::try_from(prefix.get("len")?.as_u64()?).ok()?;
        let net = IpNet::new(address(prefix.get("addr")?)?, length).ok()?;
        return Some((net.network(), net.broadcast()));
    }
    if let Some(ends) = value.get("range") {
        return Some((address(ends.get(0)?)?, address(ends.get(1)?)?));
    }
    address(value).map(|one| (one, one))
}

fn covers_ephemeral(value: &Value) -> Holds {
    let ends = value.get("range").and_then(|ends| {
        let end = |index: usize| ends.get(index)?.as_u64();
        Some((end(0)?, end(1)?))
    });
    match ends {
        Some((first, last)) if first <= EPHEMERAL.0 && last >= EPHEMERAL.1 => Holds::Yes,
        _ => Holds::Sometimes,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn blocks(chain: &InputChain, packet: FirstPacket) -> bool {
        ChainEvaluator::new(chain).blocks(packet)
    }

    fn chain(family: &str, policy: &str, rules: &[Value]) -> InputChain {
        InputChain {
            family: family.to_owned(),
            table: "filter".to_owned(),
            chain: "input".to_owned(),
            policy: policy.to_owned(),
            rules: rules.iter().map(ToString::to_string).collect(),
        }
    }

    fn packet() -> FirstPacket<'static> {
        FirstPacket {
            interface: "enp1s0f1np1",
            to: "192.168.177.11/24".parse().unwrap(),
        }
    }

    fn meta(key: &str, right: &Value) -> Value {
        json!({"match": {"op": "==", "left": {"meta": {"key": key}}, "right": right}})
    }

    fn header(protocol: &str, field: &str, right: &Value) -> Value {
        json!({"match": {"op": "==", "left": {"payload": {"protocol": protocol, "field": field}}, "right": right}})
    }

    fn blocked(conditions: &[Value]) -> bool {
        let mut rule = conditions.to_vec();
        rule.push(json!({"accept": null}));
        blocks(&chain("inet", "drop", &[json!(rule)]), packet())
    }

    #[test]
    fn interfaces_by_name_wildcard_and_set() {
        assert!(blocked(&[meta("iifname", &json!("lo"))]));
        assert!(!blocked(&[meta("iifname", &json!("enp1s0f1np1"))]));
        assert!(!blocked(&[meta("iifname", &json!("enp1*"))]));
        assert!(!blocked(&[meta(
            "iif",
            &json!({"set": ["lo", "enp1s0f1np1"]})
        )]));
        assert!(!blocked(&[meta("iifname", &json!("@trusted"))]));
        assert!(!blocked(&[]), "accept for all");
        let not =
            json!({"match": {"op": "!=", "left": {"meta": {"key": "iifname"}}, "right": "eth0"}});
        assert!(!blocked(&[not]));
    }

    #[test]
    fn sources_by_subnet_peer_and_range() {
        let subnet = json!({"prefix": {"addr": "192.168.0.0", "len": 16}});
        assert!(!blocked(&[header("ip", "saddr", &subnet)]));
        assert!(!blocked(&[header("ip", "saddr", &json!("192.168.177.14"))]));
        assert!(!blocked(&[header(
            "ip",
            "saddr",
            &json!({"range": ["192.168.177.2", "192.168.177.9"]})
        )]));
        assert!(blocked(&[header("ip", "saddr", &json!("10.1.2.3"))]));
        assert!(blocked(&[header("ip6", "saddr", &json!("fe80::1"))]));
    }

    #[test]
    fn what_helps_other_traffic_does_not_help() {
        let state = |states: Value| json!({"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": states}});
        assert!(blocked(&[state(json!(["established", "related"]))]));
        assert!(!blocked(&[state(json!(["new", "established"]))]));
        assert!(blocked(&[header("tcp", "dport", &json!(22))]));
        assert!(!blocked(&[header(
            "tcp",
            "dport",
            &json!({"range": [1024, 65535]})
        )]));
        assert!(blocked(&[meta("l4proto", &json!("udp"))]));
        assert!(!blocked(&[meta(
            "l4proto",
            &json!({"set": ["tcp", "udp"]})
        )]));
        assert!(blocked(&[
            json!({"xt": {"type": "match", "name": "conntrack"}})
        ]));
    }

    #[test]
    fn verdict_maps_count_by_their_elements() {
        let map = |elements: Value| json!([{"vmap": {"key": {"ct": {"key": "state"}}, "data": {"set": elements}}}]);
        let usual = map(json!([["established", {"accept": null}], ["invalid", {"drop": null}]]));
        assert!(blocks(&chain("inet", "drop", &[usual]), packet()));
        let open = map(json!([["new", {"accept": null}]]));
        assert!(!blocks(&chain("inet", "drop", &[open]), packet()));
    }

    #[test]
    fn closed_is_by_policy_or_by_the_last_rule() {
        let reject = json!([{"reject": {"type": "icmpx"}}]);
        let local = json!([meta("iifname", &json!("lo")), {"accept": null}]);
        assert!(blocks(
            &chain("inet", "accept", &[local.clone(), reject]),
            packet()
        ));
        assert!(!blocks(&chain("inet", "accept", &[local]), packet()));
        assert!(blocks(&chain("ip", "drop", &[]), packet()));
        assert!(!blocks(&chain("ip6", "drop", &[]), packet()));
        assert!(!blocks(&chain("bridge", "drop", &[]), packet()));
        let hostile = [
            "",
            "{}",
            "[1]",
            r#"[{"match":{}},{"vmap":3},{"accept":null}]"#,
        ];
        let mut odd = chain("ip", "drop", &[]);
        odd.rules = hostile.map(str::to_owned).to_vec();
        blocks(&odd, packet());
    }
}
