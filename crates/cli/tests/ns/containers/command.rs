//! A command on a node that does not end.

use std::time::Duration;

use crate::common::lab::bare_containers;

#[test]
fn command_that_hangs_is_told_with_what_the_node_runs() {
    let lab = bare_containers("two-sparks");
    let script = "[ -d / ] && echo begun && sleep 97; true";
    let error = lab
        .exec_as_root("spark-a", &["sh", "-c", script], Duration::from_secs(3))
        .unwrap_err()
        .to_string();
    for told in ["spark-a", script, "it had said: begun", "console"] {
        assert!(error.contains(told), "{error}");
    }
    let runs = lab.hang_diagnosis("spark-a");
    assert!(runs.contains(script) && runs.contains("sleep 97"), "{runs}");
    lab.kill("spark-a").unwrap();
    let runs = lab.hang_diagnosis("spark-a");
    assert!(runs.starts_with("the node does not say: "), "{runs}");
}
