//! Nodes as people have them, and as they break, on two Sparks: noise at login, other builds, a full disk, sudo with a
//! password, a jump host, a changed host key, and a node that stops or dies while it is read.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use crosstie_lab::Lab;
use crosstie_reach::binary::build_of;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{
    lab::{COMMAND_TIMEOUT, bare_containers, sh, told},
    sshd::{crosstie, typed},
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];
/// A node is given up after it (15 s without a word, in the middle of a call), and the rest takes its time on a busy machine.
const GIVEN_UP_TIMEOUT: Duration = Duration::from_secs(45);

/// One after another on the same two nodes: a reset would cost the agent's way there again.
type Scenario = fn(&ReachLab<'_>);

/// A lab, and a folder for what the person at the controller has.
struct ReachLab<'a> {
    lab: &'a Lab,
    folder: TempDir,
}

impl ReachLab<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn scan(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crosstie());
        command.arg("scan").args(arguments).arg("--json");
        command
            .env("XDG_STATE_HOME", self.folder.path())
            .env_remove("SSH_AUTH_SOCK")
            .stdin(Stdio::null());
        command
    }

    /// Both nodes, by `--lab`.
    fn both(&self, arguments: &[&str]) -> [Value; 2] {
        let scan = self.scan(&[&["--lab", self.lab.name()], arguments].concat());
        told(&run(scan, None))
    }

    fn sh(&self, node: &str, script: &str) -> String {
        sh(self.lab, node, script)
    }
}

fn run(mut command: Command, input: Option<&str>) -> Output {
    if let Some(text) = input {
        command.stdin(typed(text));
    }
    command.output().unwrap()
}

fn assert_scanned(node: &Value, name: &str) {
    assert_eq!(node["host"], name, "{node:#}");
    assert!(node["error"].is_null(), "{node:#}");
    assert_eq!(node["rdma"].as_array().unwrap().len(), 4, "{node:#}");
}

/// One line, with these words.
fn assert_failed(node: &Value, words: &[&str]) {
    let error = node["error"].as_str().unwrap_or_else(|| panic!("{node:#}"));
    assert!(!error.contains('\n'), "{error}");
    for word in words {
        assert!(error.contains(word), "{error}\nlacks: {word}");
    }
}

#[test]
fn nodes_are_reached_whatever_they_are_like() {
    let lab = bare_containers("two-sparks");
    let folder = tempfile::tempdir().unwrap();
    // `--lab` looks for labs of the person, and this one is the tests'.
    fs::create_dir(folder.path().join("crosstie")).unwrap();
    let labs = lab.directory().parent().unwrap();
    std::os::unix::fs::symlink(labs, folder.path().join("crosstie/labs")).unwrap();
    let place = ReachLab { lab: &lab, folder };
    let scenarios: [(&str, Scenario); 8] = [
        ("noise at login", noise_at_login),
        ("full disk, other builds", a_full_disk_and_other_builds),
        ("sudo with a password", sudo_with_a_password),
        ("a jump host", through_a_jump_host),
        ("paused", paused_before_it_is_asked),
        ("paused in the middle", paused_in_the_middle),
        ("killed", killed_in_the_middle),
        ("a changed host key", a_changed_host_key),
    ];
    for (name, scenario) in scenarios {
        let started = Instant::now();
        scenario(&place);
        println!("{:5.1} s  {name}", started.elapsed().as_secs_f64());
    }
}

/// It stays for all that follows. Bash reads `.bashrc` for a command over ssh, too.
fn noise_at_login(place: &ReachLab<'_>) {
    let noise = "echo Welcome; seq 2000; echo oops >&2; printf \"no end of line\"";
    for node in NODES {
        let script = format!(
            "printf '%s\\n' '{noise}' | cat - ~lab/.bashrc > ~lab/new && mv ~lab/new ~lab/.bashrc"
        );
        place.sh(node, &script);
        let heard = place.lab.exec(node, &["true"], COMMAND_TIMEOUT).unwrap();
        assert!(heard.stdout.ends_with("2000\nno end of line"), "no noise");
    }
    let nodes = place.both(&[]);
    for (node, name) in nodes.iter().zip(NODES) {
        assert_scanned(node, name);
        assert_eq!(node["cages"][0]["active"], true, "{node:#}");
        assert_eq!(node["cages"][1]["active"], false, "{node:#}");
    }
}

/// The first node's disk is full. In the second one's cache lie an old build, a new one, and a damaged file in place of ours;
/// and it has no gzip.
fn a_full_disk_and_other_builds(place: &ReachLab<'_>) {
    place.sh(
        "spark-a",
        "mount -t tmpfs -o size=1m,uid=1000,mode=700 tmpfs ~lab/.cache",
    );
    let build = build_of(crosstie()).unwrap();
    let (old, new) = ("0".repeat(64), "1".repeat(64));
    let inside = "cd ~lab/.cache/crosstie/bin";
    place.sh(
        "spark-b",
        &format!(
            "{inside} && test -x {build} && printf x | dd of={build} bs=1 seek=5000 conv=notrunc status=none && \
             mv /usr/bin/gzip /usr/bin/gzip.away && install -o lab -m 700 /bin/true {old} && install -o lab -m 700 /bin/true {new} && touch -d '8 days ago' {old}"
        ),
    );
    let [a, b] = place.both(&[]);
    assert_failed(&a, &["no space left on its disk"]);
    let left = place.sh("spark-a", "find ~lab/.cache -type f; umount ~lab/.cache");
    assert_eq!(left, "", "nothing is left of what did not fit");

    assert_scanned(&b, "spark-b");
    let files = place.sh(
        "spark-b",
        &format!("mv /usr/bin/gzip.away /usr/bin/gzip; {inside} && ls -A"),
    );
    let mut files: Vec<&str> = files.lines().collect();
    files.sort_by_key(|name| *name != new);
    assert_eq!(files, [new, build.clone()]);
    let sum = place.sh("spark-b", &format!("{inside} && sha256sum {build}"));
    assert!(sum.starts_with(&build), "{sum}");
}

fn sudo_with_a_password(place: &ReachLab<'_>) {
    place.sh(
        "spark-a",
        "umask 337; printf 'lab ALL=(ALL:ALL) ALL\\n' > /etc/sudoers.d/lab",
    );
    let with = |password: &str| {
        let options = [
            "--lab",
            place.lab.name(),
            "--sudo",
            "--become-password-fd",
            "0",
        ];
        let output = run(place.scan(&options), Some(password));
        let all = [&output.stdout[..], &output.stderr].concat();
        assert!(!String::from_utf8_lossy(&all).contains(password));
        let nodes = told(&output);
        for (node, name) in nodes.iter().zip(NODES) {
            assert_scanned(node, name);
        }
        nodes
    };
    let [a, b] = with(place.lab.password());
    assert_eq!([root_would_add(&a), root_would_add(&b)], [false, false]);
    assert_eq!(why_not_root(&a), "");
    let owner = place.sh("spark-a", "stat -c '%U %a' /var/lib/crosstie/bin/*");
    assert_eq!(owner, "root 755\n");

    // What root has looked at is looked at again once it was touched.
    let build = build_of(crosstie()).unwrap();
    let inside = "cd /var/lib/crosstie/bin";
    place.sh(
        "spark-a",
        &format!(
            "{inside} && test -s /run/crosstie/agent-{build} && \
             printf x | dd of={build} bs=1 seek=5000 conv=notrunc status=none"
        ),
    );
    let [a, _] = with(place.lab.password());
    assert_eq!(why_not_root(&a), "");
    // Neither a pipe, nor a folder of somebody else's with a link in it, nor a folder in place of the agent is believed.
    let known = "rm -rf /run/crosstie && mkdir /run/crosstie";
    for trap in [
        format!("{known} && mkfifo /run/crosstie/agent-{build}"),
        format!(
            "{known} && chown lab /run/crosstie && echo precious > /etc/victim && \
             ln -s /etc/victim /run/crosstie/agent-{build}"
        ),
        format!("{inside} && rm {build} && mkdir -p {build}/inner"),
    ] {
        place.sh("spark-a", &trap);
        let [a, _] = with(place.lab.password());
        assert_eq!(why_not_root(&a), "", "{trap}");
    }
    let victim = place.sh(
        "spark-a",
        "cat /etc/victim; rm -rf /etc/victim /run/crosstie",
    );
    assert_eq!(victim, "precious\n");
    let sum = place.sh("spark-a", &format!("{inside} && sha256sum {build}"));
    assert!(sum.starts_with(&build), "{sum}");

    let [a, b] = with("wrong horse");
    assert_eq!([root_would_add(&a), root_would_add(&b)], [true, false]);
    let why = why_not_root(&a);
    assert!(why.contains("did not accept the password"), "{why}");
}

fn root_would_add(node: &Value) -> bool {
    let unread = node["unread"].as_array().unwrap();
    unread.iter().any(|gap| gap["root_would"] == true)
}

fn why_not_root(node: &Value) -> &str {
    let unread = node["unread"].as_array().unwrap();
    let gap = unread
        .iter()
        .find(|gap| gap["what"] == "what only root may read");
    gap.and_then(|gap| gap["why"].as_str()).unwrap_or_default()
}

/// The second Spark over the cable, by way of the first: as where one of them alone has a network beside it.
fn through_a_jump_host(place: &ReachLab<'_>) {
    for (node, address) in NODES.iter().zip(["192.168.101.1/24", "192.168.101.2/24"]) {
        // NetworkManager would take it away again when nobody answers its DHCP.
        let script = format!(
            "nmcli device set enp1s0f0np0 managed no; ip link set enp1s0f0np0 up; ip address add {address} dev enp1s0f0np0"
        );
        place.sh(node, &script);
    }
    place.sh(
        "spark-a",
        "for i in $(seq 30); do ping -q -c 1 -W 1 192.168.101.2 && exit 0; sleep 0.3; done; exit 1",
    );
    let lab = place.lab.directory().display();
    let config = place.path("ssh_config");
    let text = format!(
        "Include {lab}/ssh_config\nHost far\n  HostName 192.168.101.2\n  ProxyJump spark-a\n  User lab\n  \
         HostKeyAlias spark-b\n  IdentityFile {lab}/key\n  UserKnownHostsFile {lab}/known_hosts\n"
    );
    fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    let output = run(
        place.scan(&["--ssh-config", config, "spark-a", "far"]),
        None,
    );
    let [a, b] = told(&output);
    assert_scanned(&a, "spark-a");
    assert_scanned(&b, "spark-b");
    assert_eq!(b["reached"], "far");
    let came_by = |node: &Value| {
        let interfaces = node["interfaces"].as_array().unwrap().iter();
        let mut ssh = interfaces.filter(|interface| interface["ssh"] == true);
        ssh.next().unwrap()["name"].as_str().unwrap().to_owned()
    };
    assert_eq!([came_by(&a), came_by(&b)], ["enP7s7", "enp1s0f0np0"]);
}

/// A scan of both whose second node is in the middle of its work.
fn in_the_middle(place: &ReachLab<'_>) -> Child {
    place.sh(
        "spark-b",
        "printf '#!/bin/sh\\n: > /tmp/asked\\nexec sleep 60\\n' > /usr/local/bin/slow; chmod 755 /usr/local/bin/slow; \
         rm -f /tmp/asked; mountpoint -q /usr/bin/timedatectl || mount --bind /usr/local/bin/slow /usr/bin/timedatectl",
    );
    let mut watch = place.lab.ssh("spark-b", Some("root")).unwrap();
    let watch = watch
        .arg("echo watching; until test -e /tmp/asked; do sleep 0.02; done; echo asked")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut watch = watch.unwrap();
    let mut said = BufReader::new(watch.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "watching");
    let scan = place
        .scan(&["--lab", place.lab.name()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(said.next().unwrap().unwrap(), "asked");
    let _ = watch.wait();
    scan
}

fn given_up(scan: Child) {
    let started = Instant::now();
    let [a, b] = told(&scan.wait_with_output().unwrap());
    assert!(
        started.elapsed() < GIVEN_UP_TIMEOUT,
        "{:?}",
        started.elapsed()
    );
    assert_scanned(&a, "spark-a");
    assert_eq!(b["host"], "spark-b");
    assert_failed(&b, &["has not been heard of for 15 s"]);
}

/// It costs one error and holds up nobody.
fn paused_before_it_is_asked(place: &ReachLab<'_>) {
    place.lab.pause("spark-b").unwrap();
    let started = Instant::now();
    let [a, b] = place.both(&["--timeout", "10"]);
    assert!(
        started.elapsed() < GIVEN_UP_TIMEOUT,
        "{:?}",
        started.elapsed()
    );
    assert_scanned(&a, "spark-a");
    assert_eq!(b["host"], "spark-b");
    assert!(b["error"].is_string(), "{b:#}");
    place.lab.resume("spark-b").unwrap();
}

fn paused_in_the_middle(place: &ReachLab<'_>) {
    let scan = in_the_middle(place);
    place.lab.pause("spark-b").unwrap();
    given_up(scan);
    place.lab.resume("spark-b").unwrap();
    place.sh(
        "spark-b",
        "for i in $(seq 50); do pgrep -f '/crosstie/[b]in/' >&2 || exit 0; sleep 0.2; done; exit 1",
    );
}

fn killed_in_the_middle(place: &ReachLab<'_>) {
    let scan = in_the_middle(place);
    place.lab.kill("spark-b").unwrap();
    given_up(scan);
}

/// Of a node that is there again, as `up` left it.
fn a_changed_host_key(place: &ReachLab<'_>) {
    place.lab.reset("spark-b").unwrap();
    let known = fs::read_to_string(known_hosts(place.lab)).unwrap();
    place.sh(
        "spark-b",
        "cd /etc/ssh && rm ssh_host_* && ssh-keygen -q -t ed25519 -N '' -f ssh_host_ed25519_key && systemctl restart ssh",
    );
    let [a, b] = place.both(&[]);
    assert_scanned(&a, "spark-a");
    // By the folder in which `--lab` found it: what is offered is what was used.
    let lab = place
        .folder
        .path()
        .join("crosstie/labs")
        .join(place.lab.name());
    let login = format!("ssh -F {} spark-b", lab.join("ssh_config").display());
    let cure = [
        "host key is not the one that is known",
        "ssh-keygen -R",
        &login,
    ];
    assert_failed(&b, &cure);
    let after = fs::read_to_string(known_hosts(place.lab)).unwrap();
    assert_eq!(after, known, "nothing was trusted");
}

fn known_hosts(lab: &Lab) -> PathBuf {
    Path::new(lab.directory()).join("known_hosts")
}
