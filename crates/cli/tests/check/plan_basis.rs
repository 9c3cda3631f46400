//! A plan is stale when a fact that it may rest on has changed, and not when time has merely passed.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::UdpSocket,
    thread,
    time::Duration,
};

use crosstie_facts::facts;
use crosstie_model::{ClusterSpec, Facts, NodePlan};
use crosstie_plan::{VOLATILE, VolatileFact, basis, changed, plan};
use serde_json::{Value, json};

use crate::common::samples;

/// Facts of a kind are changed in so many places, over all samples.
const OF_A_KIND: usize = 3;

/// The samples, and what they lack of what is volatile.
fn nodes() -> Vec<Facts> {
    let mut nodes: Vec<Facts> = samples::all().map(|raw| facts(&raw)).collect();
    let mut value = serde_json::to_value(&nodes[0]).unwrap();
    let network = &mut value["network"];
    network["ssh_address"] = json!({"value": "192.0.2.77"});
    network["neighbours"] = json!({"value": [{"address": "192.0.2.1", "interface": null, "mac": null, "state": ["REACHABLE"]}]});
    let chain = json!({"family": "inet", "table": "filter", "chain": "input", "policy": "accept", "rules": []});
    network["firewall"] = json!({"value": {"input": [chain]}});
    network["interfaces"][0]["statistics"] = json!({"rx_bytes": 1});
    let mut wireless = network["interfaces"][0].clone();
    wireless["name"] = json!("wlp3s0");
    wireless["index"] = json!({"value": 99});
    wireless["mac"] = json!({"value": "02:00:00:00:00:01"});
    wireless["addresses"] = json!([]);
    network["interfaces"].as_array_mut().unwrap().push(wireless);
    value["host"]["numa"] = json!([{"id": 0, "cpus": {"value": "0-19"}, "memory": {"value": 1}}]);
    let sensor = json!({"label": "asic", "celsius": {"value": 60.5}, "critical": {"value": 105.0}});
    value["pci"][0]["sensors"] = json!([sensor]);
    value["software"]["services"] = json!(["NetworkManager", "ssh"]);
    value["nccl"]["settings"] = json!([
        {"name": "NCCL_DEBUG", "value": "INFO", "source": "environment"},
        {"name": "NCCL_DEBUG", "value": "WARN", "source": "/etc/nccl.conf"},
    ]);
    value["unread"] = json!([
        {"what": "firewall rules", "why": "permission denied", "root_would": true},
        {"what": "/etc/netplan/01.yaml", "why": "permission denied", "root_would": true},
    ]);
    nodes.push(serde_json::from_value(value).unwrap());
    nodes
}

/// The steps from the top of a JSON document to a value in it.
type Path = Vec<String>;

/// Everything that is no list and no object, and empty ones of those.
fn leaves(value: &Value, path: &mut Path, found: &mut Vec<Path>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(index, element)| (index.to_string(), element))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| (key.clone(), field))
            .collect(),
        _ => Vec::new(),
    };
    if children.is_empty() {
        found.push(path.clone());
    }
    for (step, child) in children {
        path.push(step);
        leaves(child, path, found);
        path.pop();
    }
}

fn at<'a>(value: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(elements) => &elements[step.parse::<usize>().unwrap()],
        _ => &value[step],
    })
}

fn at_mut<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(elements) => &mut elements[step.parse::<usize>().unwrap()],
        _ => &mut value[step],
    })
}

/// Leaves that differ in place alone are of one kind.
fn kind(facts: &Value, path: &[String]) -> String {
    let steps = (0..path.len()).map(|index| match at(facts, &path[..index]) {
        Value::Array(_) => "*",
        Value::Object(_) if index > 0 && path[index - 1] == "sysctls" => "*",
        _ => path[index].as_str(),
    });
    steps.collect::<Vec<_>>().join(".")
}

fn is_declared(rule: &VolatileFact, facts: &Value, path: &[String]) -> bool {
    let pattern: Vec<&str> = rule.path.split('.').collect();
    let fits = pattern.len() <= path.len()
        && pattern
            .iter()
            .zip(path)
            .all(|(wanted, step)| *wanted == "*" || wanted == step);
    let judged = pattern.len() - usize::from(pattern.last() != Some(&"*"));
    fits && (rule.when)(at(facts, &path[..judged]))
}

/// Values that it could have had instead.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(value) => vec![json!(!value)],
        Value::Number(number) => match number.as_u64() {
            Some(value) => vec![json!(value + 1), json!(value.saturating_sub(1))],
            None => vec![json!(number.as_f64().unwrap() + 1.0)],
        },
        Value::Null => vec![
            json!(7),
            json!("x"),
            json!("192.0.2.9"),
            json!("192.0.2.0/25"),
        ],
        Value::String(text) => {
            let turned = |text: &str| {
                let last = text.rfind(|c: char| c.is_ascii_hexdigit())?;
                let digit = if text[last..].starts_with('1') {
                    "2"
                } else {
                    "1"
                };
                Some(format!("{}{digit}{}", &text[..last], &text[last + 1..]))
            };
            let words = [
                "denied",
                "absent",
                "nobody",
                "networkd",
                "network-manager",
                "ifupdown",
            ];
            let words = words.into_iter().map(str::to_owned);
            let mut texts: Vec<String> = match text.as_str() {
                "absent" | "denied" => words.collect(),
                _ => turned(text)
                    .into_iter()
                    .chain([format!("{text}x")])
                    .chain(words)
                    .collect(),
            };
            texts.retain(|other| other != text);
            texts.into_iter().map(Value::String).collect()
        }
        _ => Vec::new(),
    }
}

/// The facts with that leaf changed to something that they can hold.
fn perturbed(facts: &Value, path: &[String]) -> Option<Facts> {
    others(at(facts, path)).into_iter().find_map(|other| {
        let mut value = facts.clone();
        *at_mut(&mut value, path) = other.clone();
        let changed: Facts = serde_json::from_value(value).ok()?;
        let again = serde_json::to_value(&changed).ok()?;
        (*at(&again, path) == other).then_some(changed)
    })
}

fn spec_of(facts: &Facts) -> ClusterSpec {
    let cages = crosstie_fabric::cages(facts, None);
    let cage = cages.first().map_or("p0", |cage| &cage.id);
    let text = format!(
        "format = 1\nname = \"c\"\n[fabric]\nmtu = 9000\npool = \"10.77.0.0/16\"\nunused_ports_down = true\n\
         [[node]]\nname = \"{name}\"\nnumber = 1\n[[cable]]\nport = \"{name}:{cage}\"\nplane = \"leaf\"\n",
        name = facts.host.name
    );
    ClusterSpec::from_toml(&text).unwrap()
}

/// What would be done. Notes are for people.
fn work(spec: &ClusterSpec, facts: &Facts) -> Option<NodePlan> {
    let mut node = plan(spec, std::slice::from_ref(facts)).ok()?.nodes.pop()?;
    node.basis.clear();
    node.notes.clear();
    Some(node)
}

/// Every fact of every kind is changed, one at a time: the plan is stale, unless the fact is declared volatile; and what is
/// declared volatile makes no other plan.
#[test]
fn whatever_changes_makes_a_plan_stale_or_is_declared_volatile() {
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    let (mut stale, mut volatile, mut fixed) = (0, BTreeSet::new(), BTreeSet::new());
    for node in nodes() {
        let value = serde_json::to_value(&node).unwrap();
        let (spec, then) = (spec_of(&node), basis(&node));
        let planned = work(&spec, &node);
        let mut paths = Vec::new();
        leaves(&value, &mut Vec::new(), &mut paths);
        for path in paths {
            let kind = kind(&value, &path);
            let declared = VOLATILE
                .iter()
                .find(|rule| is_declared(rule, &value, &path));
            // A rule that holds for some of a kind makes two kinds of it.
            let count = tried
                .entry(format!("{kind} {}", declared.is_some()))
                .or_default();
            if *count >= OF_A_KIND {
                continue;
            }
            let Some(now) = perturbed(&value, &path) else {
                fixed.insert(kind);
                continue;
            };
            *count += 1;
            let place = path.join(".");
            let same = basis(&now) == then;
            let after = serde_json::to_value(&now).unwrap();
            if let Some(rule) = declared {
                volatile.insert(rule.path);
            }
            // `ssh` that becomes another service is one more service.
            if let Some(rule) = declared.filter(|rule| is_declared(rule, &after, &path)) {
                let excused = rule.path == "network.ssh_address";
                assert!(
                    same || excused,
                    "{place} is declared volatile ({}), and counts",
                    rule.why
                );
                assert!(
                    !same || work(&spec, &now) == planned,
                    "{place} is declared volatile, and makes another plan"
                );
            } else {
                assert!(!same, "{place} changed, and the plan is not stale");
                assert!(!changed(&basis(&now), &then).is_empty(), "{place}");
                stale += 1;
            }
        }
    }
    let unused: Vec<&str> = VOLATILE
        .iter()
        .map(|rule| rule.path)
        .filter(|path| !volatile.contains(path))
        .collect();
    assert_eq!(unused, [""; 0], "no sample has these");
    assert!(stale > 300, "only {stale} facts were tried");
    // Lists and maps that are empty everywhere have no leaf that could be changed.
    let odd: Vec<&String> = fixed
        .iter()
        .filter(|kind| {
            !tried.keys().any(|tried| {
                tried.starts_with(&format!("{kind} ")) || tried.starts_with(&format!("{kind}."))
            })
        })
        .collect();
    assert!(odd.is_empty(), "cannot be changed by this test: {odd:?}");
}

/// What is one more, or one less, changes a plan too: a route, an address, a module, a port.
#[test]
fn whatever_goes_makes_a_plan_stale() {
    let node = nodes().pop().unwrap();
    let value = serde_json::to_value(&node).unwrap();
    let mut lists = vec![
        vec!["network", "interfaces"],
        vec!["network", "routes", "value"],
        vec!["rdma"],
        vec!["pci"],
        vec!["persistence", "profiles"],
    ];
    lists.retain(|path| {
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        at(&value, &path)
            .as_array()
            .is_some_and(|list| !list.is_empty())
    });
    assert!(lists.len() >= 4, "{lists:?}");
    for list in lists {
        let path: Vec<String> = list.iter().map(ToString::to_string).collect();
        let mut fewer = value.clone();
        at_mut(&mut fewer, &path).as_array_mut().unwrap().pop();
        let fewer: Facts = serde_json::from_value(fewer).unwrap();
        assert_ne!(basis(&fewer), basis(&node), "{list:?}");
        let words = changed(&basis(&fewer), &basis(&node));
        assert!(
            words.iter().any(|words| words.starts_with(list[0])),
            "{words:?}"
        );
    }
}

/// Whoever reads, and whoever comes by ssh, is no part of it.
#[test]
fn the_reader_makes_no_plan_stale() {
    let node = nodes().pop().unwrap();
    let mut other = node.clone();
    other.software.services.retain(|service| service != "ssh");
    other
        .nccl
        .settings
        .retain(|setting| setting.source != "environment");
    other.unread.retain(|gap| gap.what != "firewall rules");
    assert_ne!(other, node);
    assert_eq!(changed(&basis(&other), &basis(&node)), [""; 0]);
    other.unread.clear();
    assert_eq!(changed(&basis(&other), &basis(&node)), ["unread"]);
}

/// A cable that is plugged in after the plan was made would be taken down with the port that had none.
#[test]
fn a_cable_that_is_plugged_in_makes_a_plan_stale() {
    let node = facts(&samples::raw("spark-healthy"));
    let mut now = node.clone();
    let port = &mut now.rdma[0].ports[0];
    let other = if port.is_active() { "DOWN" } else { "ACTIVE" };
    port.state = crosstie_model::Reading::Value(other.to_owned().into());
    let device = &now.rdma[0].name;
    assert_eq!(
        changed(&basis(&now), &basis(&node)),
        [format!("rdma {device}")]
    );
}

/// The way that we came by counts, not the address that it has.
#[test]
fn the_interface_that_ssh_came_by_counts() {
    let mut node = facts(&samples::raw("spark-healthy"));
    let network = &node.network;
    let of = |index: usize| {
        network.interfaces[index]
            .addresses
            .first()
            .map(|own| own.net.addr())
    };
    let with: Vec<usize> = (0..network.interfaces.len())
        .filter(|index| of(*index).is_some() && network.interfaces[*index].name != "lo")
        .collect();
    let (one, other) = (of(with[0]).unwrap(), of(with[1]).unwrap());
    node.network.routes = crosstie_model::Reading::Absent;
    let by = |address| {
        let mut node = node.clone();
        node.network.ssh_address = crosstie_model::Reading::Value(address);
        basis(&node)
    };
    assert_eq!(changed(&by(one), &by(other)), ["management"]);
}

/// This machine, with traffic and some seconds between two looks.
#[test]
fn time_and_traffic_make_no_plan_stale() {
    let before = facts(&crosstie_node::collect());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..100 {
        socket
            .send_to(&[0; 1000], socket.local_addr().unwrap())
            .unwrap();
    }
    thread::sleep(Duration::from_secs(3));
    let after = facts(&crosstie_node::collect());
    assert_ne!(before, after, "no counter moved?");
    assert_eq!(changed(&basis(&after), &basis(&before)), [""; 0]);
}
