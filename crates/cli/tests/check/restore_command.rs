//! `crosstie restore` as the boot unit runs it, with files that name no port of this machine.

use crate::common::command;

fn restore(text: &str) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("boot.toml");
    std::fs::write(&file, text).unwrap();
    command::crosstie("", &["restore", file.to_str().unwrap()])
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let (code, _, stderr) = command::crosstie("", &["restore", "/nonexistent/boot.toml"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("/nonexistent/boot.toml"), "{stderr}");
    assert!(stderr.contains("No such file"), "{stderr}");
    for (text, complaint) in [
        ("format = ", "no file of boot settings"),
        ("down = []", "missing field `format`"),
        (
            "format = 2\nnews = true",
            "it has format 2; this build reads format 1",
        ),
        ("format = 1\nnews = true", "unknown field `news`"),
    ] {
        let (code, stdout, stderr) = restore(text);
        assert_eq!((code, stdout.as_str()), (2, ""), "{text}");
        assert!(
            stderr.contains("boot.toml") && stderr.contains(complaint),
            "{stderr}"
        );
    }
    let (code, _, stderr) = restore(&format!("format = 1\n#{}", "x".repeat(1 << 20)));
    assert_eq!(code, 2);
    assert!(stderr.contains("more than 1048576 bytes"), "{stderr}");
}

#[test]
fn nothing_to_do_is_done() {
    assert_eq!(restore("format = 1"), (0, String::new(), String::new()));
}

/// None of these could pass with time, so none is waited for.
#[test]
fn each_bad_value_is_one_line_and_the_rest_is_tried() {
    let text = r#"
        format = 1
        down = ["../../etc"]
        [[port]]
        interface = "a/b"
        device = ".."
        port = 1
        pfc = [3]
        trust = "dscp"
        ecn = [3]
        traffic_class = 106
        roce_mode = "RoCE v2"
        dscp = { "26" = 3 }
        [[port]]
        interface = "lo"
        device = "mlx5_0"
        port = 1
        pfc = [8]
        trust = "a\u001b[31m"
        roce_mode = "RoCE v3"
        dscp = { "64" = 3, "many" = 3 }
    "#;
    let (code, stdout, stderr) = restore(text);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(!stderr.contains('\u{1b}'), "{stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 13, "{stderr}");
    let told = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(told("'a/b' is no name of a network interface"), 5);
    assert_eq!(told("'..' is no name of an RDMA device"), 2);
    assert_eq!(told("'../../etc' is no name of a network interface"), 1);
    assert_eq!(told("priority flow control of lo cannot be '8'"), 1);
    assert_eq!(told("trust of lo cannot be"), 1);
    assert_eq!(told("a DSCP of lo cannot be"), 2);
    assert_eq!(told("RDMA-CM's RoCE mode of mlx5_0 cannot be 'RoCE v3'"), 1);
}
