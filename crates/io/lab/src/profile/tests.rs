#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use std::error::Error;

fn problem(text: &str) -> String {
    let error = LabProfile::parse("test", text).unwrap_err();
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn two_sparks_with(from: &str, to: &str) -> String {
    let text = shipped("two-sparks").unwrap();
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

#[test]
fn shipped_profiles_are_valid() {
    for (name, text) in SHIPPED {
        let profile =
            LabProfile::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(profile.name, name);
    }
}

#[test]
fn two_sparks_has_the_real_names_and_one_cable() {
    let profile = LabProfile::find("two-sparks").unwrap();
    let spark = profile.node("spark-a").unwrap();
    let names: Vec<_> = spark
        .nics()
        .map(|(cage, nic)| {
            (
                cage.name.as_str(),
                nic.netdev.as_str(),
                nic.rdma.as_deref().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("p0", "enp1s0f0np0", "rocep1s0f0"),
            ("p0", "enP2p1s0f0np0", "roceP2p1s0f0"),
            ("p1", "enp1s0f1np1", "rocep1s0f1"),
            ("p1", "enP2p1s0f1np1", "roceP2p1s0f1"),
        ]
    );
    assert_eq!(spark.network, NodeNetworkManager::NetworkManager);
    assert_eq!(profile.segments.len(), 1);
    assert_eq!(spark.cage_of("roceP2p1s0f1").unwrap().name, "p1");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let cases = [
        (
            two_sparks_with("kind = \"spark\"", "kind = \"sparc\""),
            "kind \"sparc\" is not defined here (defined: spark)",
        ),
        (
            two_sparks_with("spark-b:p0", "spark-b:p7"),
            "node \"spark-b\" has no cage \"p7\" (it has: p0, p1)",
        ),
        (
            two_sparks_with("spark-b:p0", "spark-a:p0"),
            "spark-a:p0 already has a cable in it",
        ),
        (
            two_sparks_with("spark-b:p0", "spark-b"),
            "\"spark-b\" is not of the form NODE:CAGE",
        ),
        (
            two_sparks_with("vcpus = 2", "vcpu = 2"),
            "unknown field `vcpu`",
        ),
        (
            two_sparks_with("memory_mib = 768", "memory_mib = 64"),
            "memory_mib is 64",
        ),
        (
            two_sparks_with("name = \"spark-b\"", "name = \"spark-a\""),
            "the name is used twice",
        ),
        (
            two_sparks_with("name = \"spark-b\"", "name = \"spark b\""),
            "a node name is",
        ),
        (
            two_sparks_with("mac_offset = 5", "mac_offset = 4"),
            "mac_offset 4 is taken",
        ),
        (
            two_sparks_with("enP2p1s0f1np1", "enP2p1s0f1np1-too-long"),
            "is not 1 to 15 letters",
        ),
        (
            two_sparks_with("network = \"network-manager\"", "network = \"ifupdown\""),
            "unknown variant `ifupdown`",
        ),
        (
            two_sparks_with("vcpus = 2", "vcpus = 2\narch = \"riscv64\""),
            "unknown variant `riscv64`, expected `x86_64` or `aarch64`",
        ),
        (
            "description = \"x\"".to_owned(),
            "a lab needs at least one [[node]]",
        ),
    ];
    for (text, expected) in cases {
        let problem = problem(&text);
        assert!(problem.contains(expected), "{problem}\nlacks: {expected}");
    }
}

#[test]
fn an_unknown_name_lists_the_shipped_ones() {
    let text = LabProfile::find("two-spark").unwrap_err().to_string();
    assert!(text.contains("two-sparks, spark-and-workstation"), "{text}");
    let text = LabProfile::find("./nowhere.toml").unwrap_err().to_string();
    assert!(text.contains("nowhere.toml"), "{text}");
}

#[test]
fn a_node_has_this_machines_architecture_unless_it_says_otherwise() {
    let arch = |text: &str| LabProfile::parse("test", text).unwrap().nodes[1].arch;
    assert_eq!(arch(shipped("two-sparks").unwrap()), Arch::HOST);
    for (word, expected) in [("aarch64", Arch::Arm), ("x86_64", Arch::X86)] {
        let node = format!("name = \"spark-b\"\narch = \"{word}\"");
        assert_eq!(
            arch(&two_sparks_with("name = \"spark-b\"", &node)),
            expected
        );
    }
    let mixed = LabProfile::find("mixed-arch").unwrap();
    assert_eq!(mixed.architectures().len(), 2);
}

#[test]
fn a_mistyped_name_is_answered_with_the_one_that_was_meant() {
    let error = LabProfile::find("two-spraks").unwrap_err().to_string();
    assert!(
        error.contains("two-spraks\": did you mean two-sparks? Shipped are"),
        "{error}"
    );
    let error = LabProfile::find("zebra").unwrap_err().to_string();
    assert!(!error.contains("did you mean"), "{error}");
}
