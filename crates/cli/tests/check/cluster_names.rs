//! One rule for what a cluster may be called, for every command that reads its file.

use std::fs;

use crate::common::command::{command, fixtures, said};

#[test]
fn a_name_that_leads_elsewhere_is_refused_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read_to_string(fixtures().join("clusters/pair.toml")).unwrap();
    let nodes = fixtures().join("nodes/spark-healthy");
    let nodes = nodes.to_str().unwrap();
    for name in ["../../x", "..", "/tmp/x", "a\\nb"] {
        let text = good.replacen("\"pair\"", &format!("\"{name}\""), 1);
        assert_ne!(text, good);
        fs::write(folder.path().join("cluster.toml"), text).unwrap();
        for arguments in [
            &["plan", "--from", nodes][..],
            &["plan", "--from", nodes, "--out", "planned"],
            &["doctor", "--from", nodes, "--cluster", "cluster.toml"],
            &["env", "--from", nodes],
            &["report"],
            &["prove"],
            &["apply", "--yes"],
            &["status"],
            &["up", "--yes"],
        ] {
            let mut command = command(folder.path(), arguments);
            command.env("XDG_STATE_HOME", folder.path().join("state"));
            let (code, _, stderr) = said(command.output().unwrap());
            assert_eq!(code, 2, "{arguments:?}: {stderr}");
            assert!(
                stderr.contains("cannot be a cluster's name"),
                "{arguments:?}: {stderr}"
            );
        }
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
