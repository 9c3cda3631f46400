//! `crosstie bench`, as far as it goes without nodes.

use crate::common::command::{Schema, crosstie};

#[test]
fn its_schema_is_published() {
    Schema::published("bench");
}

#[test]
fn what_no_queue_could_be_is_refused_before_any_node_is_asked() {
    for (arguments, wanted) in [
        (["--depth", "100"].as_slice(), "not a power of two"),
        (&["--list", "0"], "not a power of two"),
        (&["--size", "0"], "0 is not in 1..=1073741824"),
        (
            &["--list", "64", "--depth", "32"],
            "64 messages cannot be posted at once where only 32 may be under way",
        ),
    ] {
        let mut all = vec!["bench", "no-such-node-a", "no-such-node-b"];
        all.extend(arguments);
        let (code, _, said) = crosstie(".", &all);
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{arguments:?}: {said}");
    }
}

#[test]
fn a_namespace_is_a_node_for_bench_alone() {
    for command in ["scan", "doctor", "prove"] {
        let (code, _, said) = crosstie(".", &[command, "netns:left", "netns:right"]);
        assert_eq!(code, 2, "{command}: {said}");
        assert!(said.contains("only `crosstie bench` takes"), "{said}");
    }
}

/// What is measured is live.
#[test]
fn captures_are_not_offered_where_something_is_measured() {
    for command in ["bench", "prove"] {
        let (_, help, _) = crosstie(".", &[command, "--help"]);
        assert!(
            help.contains("--cluster") && !help.contains("--from"),
            "{help}"
        );
        let (code, _, said) = crosstie(".", &[command, "--from", "nodes"]);
        assert_eq!(code, 2);
        assert!(said.contains("--from"), "{said}");
    }
}

#[test]
fn whoever_names_no_nodes_is_told_how() {
    let folder = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str]| {
        let (code, _, text) = crosstie(folder.path().to_str().unwrap(), arguments);
        assert_eq!(code, 2, "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let none = said(&["bench"]);
    assert!(
        none.contains("name two, like `. spark-b`, or the nodes by --lab or --cluster"),
        "{none}"
    );
    let one = said(&["bench", "."]);
    assert!(one.contains("name another"), "{one}");
}
