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
