//! `crosstie scan` of the machine that the test runs on.

use crosstie_facts::facts;
use crosstie_node::capture;

use crate::common::command;

/// Live collection and captures are two ways to one answer.
#[test]
fn facts_of_a_capture_are_the_facts_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let raw = crosstie_node::collect();
    let live = facts(&raw);
    assert!(
        !live.network.interfaces.is_empty(),
        "no network interface on this machine?"
    );
    for name in ["node.tar.gz", "node"] {
        let path = folder.path().join(name);
        capture::write(&crosstie_node::cut_to_allow_list(&raw), &path).unwrap();
        let loaded = capture::load(&path).unwrap().remove(0).raw.unwrap();
        assert_eq!(facts(&loaded), live, "{name}");
    }
    assert_eq!(
        facts(&capture::unpack(&capture::pack(&raw).unwrap()).unwrap()),
        live
    );
}

#[test]
fn a_capture_shows_what_the_machine_showed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node.tar.gz");
    let path = path.to_str().unwrap();
    let run = |arguments: &[&str]| {
        let (code, stdout, stderr) = command::crosstie(".", arguments);
        assert_eq!(code, 0, "{stderr}");
        let nodes: Vec<serde_json::Value> = serde_json::from_str(&stdout).unwrap();
        nodes.into_iter().next().unwrap()
    };
    let live = run(&["scan", "--json", "--facts", "--capture", path]);
    let mut captured = run(&["scan", "--json", "--facts", "--from", path]);
    assert_eq!(captured["source"], "node.tar.gz");
    captured.as_object_mut().unwrap().remove("source");
    assert_eq!(captured, live);
}
