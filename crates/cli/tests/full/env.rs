//! `crosstie env`: what systemd and podman themselves make of it.

#![allow(clippy::print_stdout)] // what a person wants to see of it

use std::{fs, process::Command, time::Duration};

use crate::common::{
    command,
    debian::install,
    jobs::{JobLab, said},
    lab::{containers, sh, sh_within},
    sshd::crosstie,
};

/// It starts slowly where it is emulated.
const PODMAN_TIMEOUT: Duration = Duration::from_secs(300);

/// Everything that a shell or systemd would make something else of.
const ODD: &str = "it's \"$HOME\" ${HOME} `id` \\n $(id)\n#second; line = %h *\\";

#[test]
fn full_systemd_reads_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let (set, out) = (format!("ODD={ODD}"), folder.path().to_str().unwrap());
    let cluster = ["--from", "nodes", "--cluster", "clusters/pair.toml"];
    let format = ["--format", "systemd", "--set", &set, "--out", out];
    let (code, said, _) = command::crosstie("", &[&["env"], &cluster[..], &format].concat());
    assert_eq!(code, 0, "{said}");
    let files = fs::read_dir(folder.path()).unwrap();
    let file = files.map(|file| file.unwrap().path()).next().unwrap();
    let lab = containers("two-sparks");
    let copied = Command::new("scp")
        .args(["-q", "-F"])
        .arg(lab.ssh_config())
        .arg(file)
        .arg("spark-a:/tmp/environment")
        .status()
        .unwrap();
    assert!(copied.success());
    let read = |name: &str| {
        let unit = "systemd-run --quiet --wait --pipe --property=EnvironmentFile=/tmp/environment";
        sh(&lab, "spark-a", &format!("{unit} printenv {name}"))
    };
    assert_eq!(read("ODD"), format!("{ODD}\n"));
    assert!(!read("NCCL_SOCKET_IFNAME").trim().is_empty());
}

/// Podman of Debian's on a machine with Soft-RoCE, its image the machine's own tree.
#[test]
fn full_podman_takes_our_flags_and_verbs_work_inside() {
    let jobs = JobLab::machines();
    install(&jobs, "podman");
    let output = Command::new(crosstie())
        .args(["env", "spark-a", "--format", "podman", "--set"])
        .arg(format!("ODD={ODD}"))
        .arg("--cluster")
        .arg(&jobs.cluster)
        .arg("--ssh-config")
        .arg(jobs.lab.ssh_config())
        .output()
        .unwrap();
    let (code, flags) = said(&output);
    assert_eq!(code, 0, "{flags}");
    let flags = String::from_utf8(output.stdout).unwrap();
    jobs.sh(
        "spark-a",
        &format!("cat > /tmp/flags <<'END'\n{flags}\nEND"),
    );
    let inside = |command: &str| {
        let run = "eval \"set -- $(cat /tmp/flags)\"; podman run --rm \"$@\" --rootfs /:O";
        sh_within(
            &jobs.lab,
            "spark-a",
            &format!("{run} {command}"),
            PODMAN_TIMEOUT,
        )
    };
    assert_eq!(inside("printenv ODD"), format!("{ODD}\n"));
    assert_eq!(inside("sh -c 'ulimit -l'"), "unlimited\n");
    let devices = inside("ibv_devinfo");
    println!("{devices}");
    assert!(devices.contains("PORT_ACTIVE"), "{devices}");
}
