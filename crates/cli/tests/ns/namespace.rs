//! A session in a network namespace.

use std::time::Duration;

use crosstie_agent::{NodeCalls, open};
use crosstie_reach::{ConnectOptions, NodeRoute, binary::AgentBinaries};

use crate::common::namespace::Namespace;

const CALL_TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn ns_a_namespace_is_a_node() {
    let namespace = Namespace::new("reach");
    namespace.ip("link add rail0 type veth peer name rail1");
    let route = NodeRoute::Namespace {
        name: namespace.0.clone(),
        program: env!("CARGO_BIN_EXE_crosstie").into(),
    };
    let binaries = AgentBinaries::default();
    let wanted = ConnectOptions {
        binaries: &binaries,
        root: None,
        deadline: CALL_TIMEOUT,
        progress: &|_| (),
    };
    let session = open(&route, &wanted).unwrap();
    assert_eq!(session.name(), namespace.0);
    let raw = session.collect(CALL_TIMEOUT, &|_| ()).unwrap();
    let facts = crosstie_facts::facts(&raw);
    let names: Vec<_> = facts
        .network
        .interfaces
        .iter()
        .map(|interface| interface.name.as_str())
        .collect();
    assert!(
        names.contains(&"rail0") && names.contains(&"rail1"),
        "{names:?}"
    );
}
