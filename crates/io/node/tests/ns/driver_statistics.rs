//! The driver's own statistics, as ethtool prints them.

use crosstie_counters::{CounterGroup, CounterPort};

use crate::namespace::Namespace;

#[test]
fn ns_driver_statistics_are_those_of_ethtool() {
    let node = Namespace::new("driver");
    node.ip("link add veth0 type veth peer name veth1");
    node.ip("link set veth0 up");
    let printed = node.exec(&["ethtool", "-S", "veth0"]);
    let names = printed.lines().skip(1).filter_map(|line| {
        let (name, _) = line.split_once(':')?;
        Some(name.trim().to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    let port = CounterPort {
        device: None,
        interface: Some("veth0".to_owned()),
    };
    let reading = node.enter(|| crosstie_node::counters(&port));
    let ours = reading.values.keys();
    let ours = ours.filter(|counter| counter.group == CounterGroup::Driver);
    let ours: Vec<String> = ours.map(|counter| counter.name.clone()).collect();
    assert_eq!(ours, names);
    assert!(!ours.is_empty(), "{printed}");
    assert!(reading.get(CounterGroup::Driver, "peer_ifindex") > Some(0));
}
