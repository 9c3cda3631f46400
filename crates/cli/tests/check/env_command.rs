//! `crosstie env` on the sample nodes: each format is read back by a program that reads it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::common::command::{self, Schema};

/// Everything that a shell, systemd or YAML would make something else of.
const ODD: &str = "it's \"$HOME\" `id` \\n $(id)\n#second; line = %h *";

fn env(more: &[&str]) -> (i32, String, String) {
    let mut arguments = vec!["env", "--from", "nodes", "--cluster", "clusters/pair.toml"];
    arguments.extend(more);
    command::crosstie("", &arguments)
}

/// What a shell makes of a script, with the text at hand as `$TEXT`.
fn dash(script: &str, text: &str) -> Vec<String> {
    let output = Command::new("dash")
        .args(["-euc", script])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TEXT", text)
        .stderr(Stdio::inherit())
        .output()
        .expect("dash, which every Debian has");
    assert!(output.status.success(), "{text}");
    let words = String::from_utf8(output.stdout).unwrap();
    words.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn what_a_person_sees() {
    let (code, stdout, stderr) = env(&[]);
    assert_eq!(code, 0, "{stderr}");
    insta::assert_snapshot!(stdout);
}

#[test]
fn json_keeps_its_schema() {
    let (code, stdout, _) = env(&["--json"]);
    assert_eq!(code, 0);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    Schema::published("env").allows(&document).unwrap();
    let host = &document["nodes"][0]["host"];
    assert_eq!(host, "spark-a");
}

#[test]
fn a_shell_reads_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let set = format!("ODD={ODD}");
    let out = folder.path().to_str().unwrap();
    let (code, stdout, stderr) = env(&["--format", "sh", "--set", &set, "--out", out]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(stdout.lines().count(), 2, "{stdout}");
    let text = fs::read_to_string(folder.path().join("spark-a.sh")).unwrap();
    let read = dash(
        r#"eval "$TEXT"; printf '%s\0' "$ODD" "$NCCL_IB_HCA" "$UCX_NET_DEVICES""#,
        &text,
    );
    assert_eq!(read[0], ODD);
    assert!(read[1].starts_with("=rocep1s0f"), "{read:?}");
    assert!(read[2].contains(":1"), "{read:?}");
}

#[test]
fn flags_of_containers_are_words_of_a_shell() {
    let set = format!("ODD={ODD}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let (code, ..) = env(&["--format", "podman", "--set", &set, "--out", out]);
    assert_eq!(code, 0);
    let text = fs::read_to_string(folder.path().join("spark-a.args")).unwrap();
    let words = dash(r#"eval "set -- $TEXT"; printf '%s\0' "$@""#, &text);
    assert!(words.contains(&format!("ODD={ODD}")), "{words:?}");
    for flag in [
        "--network",
        "host",
        "/dev/infiniband",
        "IPC_LOCK",
        "memlock=-1:-1",
    ] {
        assert!(words.contains(&flag.to_owned()), "{flag}: {words:?}");
    }
}

#[test]
fn one_prolog_of_slurms_is_for_all_nodes() {
    let (code, text, _) = env(&["--format", "slurm"]);
    assert_eq!(code, 0);
    let folder = tempfile::tempdir().unwrap();
    let printed = |host: &str| {
        let uname = folder.path().join("uname");
        fs::write(&uname, format!("#!/bin/sh\necho {host}\n")).unwrap();
        fs::set_permissions(&uname, fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().to_str().unwrap();
        dash(&format!(r#"PATH={path}:$PATH; eval "$TEXT""#), &text).concat()
    };
    assert!(printed("spark-a").contains("export NCCL_IB_HCA==rocep1s0f"));
    assert_eq!(printed("stranger"), "");
}

#[test]
fn several_nodes_that_differ_need_a_name() {
    let (code, _, stderr) = env(&["--format", "sh"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("--out DIR"), "{stderr}");
    let (code, _, stderr) = env(&["--format", "slurm", "--set", "A=b\nc"]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("slurm cannot hold the value of A"),
        "{stderr}"
    );
    let (code, _, stderr) = env(&["--set", "1A=b"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("1A=b"), "{stderr}");
}

#[test]
fn a_secret_can_come_from_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = [
        "env",
        "--from",
        "nodes",
        "--cluster",
        "clusters/pair.toml",
        "--format",
        "dotenv",
        "--set",
        "TOKEN",
        "--out",
        out,
    ];
    let mut crosstie = command::command(Path::new(""), &arguments);
    let output = crosstie.env("TOKEN", "hf_x'y").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(folder.path().join("spark-b.env")).unwrap();
    assert!(text.ends_with("TOKEN='hf_x\\'y'\n"), "{text}");
}
