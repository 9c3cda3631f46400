//! `apply`, `rollback`, `uninstall`, `status` and `try`, as far as they go without nodes.

use std::{fs, path::Path};

use crate::common::command::{Schema, crosstie, fixtures};

fn run(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let (code, stdout, stderr) = crosstie(folder, arguments);
    assert!(stdout.is_empty(), "{stdout}\n{stderr}");
    (code, stderr)
}

#[test]
fn each_says_what_it_does_and_how_it_ends() {
    for name in ["apply", "rollback", "uninstall", "status", "try"] {
        let (code, help, _) = crosstie(".", &[name, "--help"]);
        assert_eq!(code, 0);
        for part in ["Examples:", "Exit status: 0", "--become-password-fd"] {
            assert!(help.contains(part), "{name}: {part} is not in\n{help}");
        }
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{help}"
        );
    }
}

#[test]
fn what_changes_nodes_asks_first_and_without_a_terminal_needs_a_yes() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = fixtures().join("clusters/switch.toml");
    fs::copy(cluster, folder.path().join("cluster.toml")).unwrap();
    for arguments in [
        &["apply"][..],
        &["rollback"],
        &["uninstall"],
        &["rollback", "."],
    ] {
        let (code, said) = run(folder.path(), arguments);
        assert_eq!(code, 2);
        assert!(said.contains("no terminal to ask on: pass --yes"), "{said}");
    }
}

#[test]
fn nodes_come_from_the_cluster_file_and_a_missing_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, why) in [
        (
            &["apply", "--yes"][..],
            "there is no cluster.toml here: `crosstie init NODE…` writes one",
        ),
        (&["apply", "--cluster", "lab.toml"], "lab.toml"),
        (
            &["rollback", "--yes"],
            "there is no cluster.toml here: name the nodes",
        ),
        (
            &["uninstall", "--yes"],
            "there is no cluster.toml here: name the nodes",
        ),
        (&["status", "--cluster", "lab.toml"], "lab.toml"),
        (&["apply", "--guard", "5"], "30..=3600"),
        (&["try", "--for", "2h", ".", "--", "true"], "from 30s to 1h"),
        (
            &["try", "--for", "2d", ".", "--", "true"],
            "such as 90s, 2m",
        ),
        (
            &["try", "--file", "etc/frr", ".", "--", "true"],
            "from its root",
        ),
        (&["try", "."], "required"),
        // A typing error is told before anything is asked of a node.
        (
            &["status", ".", "--become-password-fd", "99"],
            "file descriptor 99 is not open",
        ),
        (
            &["trust", "spark-a", "--password-fd", "99"],
            "file descriptor 99 is not open",
        ),
    ] {
        let (code, said) = run(folder.path(), arguments);
        assert_eq!(code, 2, "{arguments:?}");
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    // A fault of the file is told before any node is asked.
    fs::write(
        folder.path().join("cluster.toml"),
        "format = 1\nname = 'x'\n[[node]]\nname = 'a'\n[[node]]\nname = 'a'\n",
    )
    .unwrap();
    let (code, said) = run(folder.path(), &["apply", "--yes"]);
    assert_eq!(code, 2);
    assert!(said.contains("cluster.toml:5:"), "{said}");
}

#[test]
fn the_published_schemas_are_current() {
    for name in ["apply", "status"] {
        Schema::published(name);
    }
}
