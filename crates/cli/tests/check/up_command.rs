//! `crosstie up`, as far as it goes without nodes.

use std::{fs, path::Path};

use crate::common::command::{Schema, command, crosstie, said};

/// In a folder that is also the home.
fn up(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut up = command(folder, &["up"]);
    up.args(arguments);
    up.env("XDG_STATE_HOME", folder.join("state"));
    said(up.output().unwrap())
}

#[test]
fn it_says_what_it_does_and_how_it_ends() {
    let (code, help, _) = crosstie(".", &["up", "--help"]);
    assert_eq!(code, 0);
    for part in [
        "Examples:",
        "Exit status: 0",
        "--become-password-fd",
        "--guard",
        "--lab",
        "[default: cluster.toml]",
    ] {
        assert!(help.contains(part), "{part} is not in\n{help}");
    }
    assert!(
        help.lines().all(|line| line.chars().count() <= 100),
        "{help}"
    );
}

#[test]
fn it_needs_nodes_and_somebody_to_ask() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, why) in [
        (&["--yes"][..], "name the nodes"),
        (&["."], "no terminal to ask on: pass --yes"),
        (&["--lab", "none-such", "--yes"], "none-such"),
        (&[".", "--guard", "5"], "30..=3600"),
        (&[".", "--lab", "x"], "there is no lab"),
    ] {
        let (code, stdout, stderr) = up(folder.path(), arguments);
        assert_eq!(code, 2, "{arguments:?}");
        assert!(stdout.is_empty(), "{stdout}");
        assert!(stderr.contains(why), "{arguments:?}: {stderr}");
    }
    fs::write(folder.path().join("cluster.toml"), "format = 7").unwrap();
    let (code, _, stderr) = up(folder.path(), &[".", "--yes"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("cannot use cluster.toml"), "{stderr}");
    // Nothing is added to a file that no plan can be made of.
    let broken = "format = 1\nname = \"x\"\n\n[[node]]\nname = \"a\"\n\n[[cable]]\na = \"a:p0\"\nb = \"c:p0\"\n";
    fs::write(folder.path().join("cluster.toml"), broken).unwrap();
    let (code, stdout, stderr) = up(folder.path(), &[".", "--yes"]);
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert_eq!(
        stderr.matches("there is no node 'c'").count(),
        1,
        "{stderr}"
    );
    assert!(stderr.contains("cluster.toml:7: [[cable]] 1"), "{stderr}");
    let kept = fs::read_to_string(folder.path().join("cluster.toml")).unwrap();
    assert_eq!(kept, broken);
    assert!(!folder.path().join("state").exists());
}

#[test]
fn a_node_that_cannot_be_reached_ends_it_before_anything_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = "root@127.0.0.1:1";
    let (code, stdout, stderr) = up(folder.path(), &[nowhere, "--yes"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stdout.contains("is not up. It ended at scan"), "{stdout}");
    assert!(stderr.contains("scan"), "{stderr}");
    let (code, stdout, _) = up(folder.path(), &[nowhere, "--yes", "--json"]);
    assert_eq!(code, 2);
    let told: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(told["stopped"]["stage"], "scan");
    assert!(!folder.path().join("cluster.toml").exists());
}

#[test]
fn the_published_schema_is_current_and_kept() {
    Schema::published("up");
}
