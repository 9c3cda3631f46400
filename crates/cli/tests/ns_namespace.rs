//! A session in a network namespace.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

use std::{process::Command, time::Duration};

use crosstie_reach::{Route, Wanted, binary::Binaries, open};

const DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn ns_a_namespace_is_a_node() {
    struct Namespace(String);
    impl Drop for Namespace {
        fn drop(&mut self) {
            ip(&["netns", "del", &self.0]);
        }
    }
    fn ip(arguments: &[&str]) {
        let done = Command::new("ip").args(arguments).status();
        assert!(
            done.expect("cannot run ip (Debian package iproute2)")
                .success()
        );
    }
    let namespace = Namespace(format!("crosstie-reach-{}", std::process::id()));
    ip(&["netns", "add", &namespace.0]);
    ip(&[
        "-n",
        &namespace.0,
        "link",
        "add",
        "rail0",
        "type",
        "veth",
        "peer",
        "name",
        "rail1",
    ]);
    let route = Route::Namespace {
        name: namespace.0.clone(),
        program: env!("CARGO_BIN_EXE_crosstie").into(),
    };
    let binaries = Binaries::default();
    let wanted = Wanted {
        binaries: &binaries,
        root: None,
        deadline: DEADLINE,
        progress: &|_| (),
    };
    let mut session = open(&route, &wanted).unwrap();
    assert_eq!(session.name(), namespace.0);
    let raw = session.collect(DEADLINE, &|_| ()).unwrap();
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
