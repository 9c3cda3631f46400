//! `crosstie trust` on the lab's two Sparks: from users who have nothing but a password to logins both ways, and back to the
//! last byte.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use crosstie_lab::Lab;
use serde_json::Value;

use crate::common::{
    lab::bare_containers,
    sshd::{crosstie, typed},
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];
const PASSWORD: &str = "correct horse";
/// Of documentation (RFC 5737): nobody else has it.
const CLAIMED: &str = "192.0.2.77";

fn as_root(lab: &Lab, node: &str, line: &str) -> (Option<i32>, String) {
    let done = lab
        .exec_as_root(node, &["sh", "-c", line], Duration::from_secs(60))
        .unwrap();
    (done.code, done.stdout + &done.stderr)
}

fn on(lab: &Lab, node: &str, line: &str) -> String {
    let (status, output) = as_root(lab, node, line);
    assert_eq!(status, Some(0), "{node}: {line}: {output}");
    output
}

/// Names, modes, owners and contents.
const FINGERPRINT_OF_HOME: &str =
    "find . -printf '%p %y %m %u %g %l\\n' | sort; find . -type f -exec sha256sum {} + | sort";

fn home_there(lab: &Lab, node: &str) -> String {
    on(
        lab,
        node,
        &format!("cd ~carol && {{ {FINGERPRINT_OF_HOME}; }}"),
    )
}

fn home_here(home: &Path) -> String {
    let output = Command::new("sh")
        .args(["-c", FINGERPRINT_OF_HOME])
        .current_dir(home)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// This machine's user with another home directory, which ssh learns from passwd and not from `$HOME`.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new(lab: &Lab) -> Self {
        let desk = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let ssh = desk.folder.path().join("home/.ssh");
        fs::create_dir_all(&ssh).unwrap();
        fs::set_permissions(&ssh, fs::Permissions::from_mode(0o700)).unwrap();
        let hosts = NODES.map(|node| {
            let port = lab.ssh_port(node).unwrap();
            format!("Host {node}\n  HostName 127.0.0.1\n  Port {port}\n  User carol\n")
        });
        fs::write(ssh.join("config"), hosts.concat() + "# no end of line").unwrap();
        let passwd = fs::read_to_string("/etc/passwd").unwrap();
        let others = passwd
            .lines()
            .filter(|line| line.split(':').nth(2) != Some("0"));
        let home = desk.folder.path().join("home");
        let root = format!("root:x:0:0::{}:/bin/sh", home.display());
        let lines: Vec<&str> = [root.as_str()].into_iter().chain(others).collect();
        fs::write(desk.folder.path().join("passwd"), lines.join("\n") + "\n").unwrap();
        desk
    }

    fn home(&self) -> std::path::PathBuf {
        self.folder.path().join("home")
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]);
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command
            .args(["sh", "-euc", "mount --bind \"$0\" /etc/passwd; exec \"$@\""])
            .arg(self.folder.path().join("passwd"))
            .arg(program)
            .env("HOME", self.home())
            .env_remove("SSH_AUTH_SOCK")
            .stdin(Stdio::null());
        command
    }

    fn trust(&self, arguments: &[&str], password: Option<&str>) -> Value {
        let mut command = self.command(crosstie());
        command.args(["trust", "--json"]).args(arguments);
        if let Some(password) = password {
            command.args(["--password-fd", "0"]).stdin(typed(password));
        }
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let value: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
        assert!(output.status.success(), "{value:#}\n{errors}");
        value
    }
}

fn logs_in(lab: &Lab, from: &str, to: &str) -> bool {
    let line =
        format!("runuser -l carol -c 'ssh -o BatchMode=yes -o ConnectTimeout=20 {to} whoami'");
    let (status, output) = as_root(lab, from, &line);
    status == Some(0) && output.lines().any(|line| line == "carol")
}

#[test]
fn passwords_become_keys_and_are_taken_back() {
    let lab = bare_containers("two-sparks");
    for node in NODES {
        on(
            &lab,
            node,
            &format!("useradd -m -s /bin/bash carol && echo 'carol:{PASSWORD}' | chpasswd"),
        );
    }
    on(
        &lab,
        NODES[1],
        "install -d -m 775 -o carol -g carol ~carol/.ssh; printf '# mine' > ~carol/.ssh/authorized_keys; chown carol: ~carol/.ssh/authorized_keys",
    );
    // An address that leads nowhere from anywhere else.
    on(
        &lab,
        NODES[1],
        &format!("ip address add {CLAIMED}/32 dev enP7s7"),
    );
    let desk = Desk::new(&lab);
    let homes = || {
        (
            NODES.map(|node| home_there(&lab, node)),
            home_here(&desk.home()),
        )
    };
    let before = homes();
    let prints = NODES.map(|node| {
        let shown = on(
            &lab,
            node,
            "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
        );
        shown.split(' ').nth(1).unwrap().to_owned()
    });
    let approved = [
        NODES[0],
        NODES[1],
        "--fingerprint",
        &prints[0],
        "--fingerprint",
        &prints[1],
        "--timeout",
        "120",
    ];

    let value = desk.trust(&approved, Some(PASSWORD));
    assert_eq!(value["nodes"][0]["host_key"], prints[0].as_str());
    let claim = serde_json::json!({"peer": NODES[1], "alias": CLAIMED, "reason": "not_seen"});
    let unwritten = value["nodes"][0]["unwritten"].as_array().unwrap();
    assert!(unwritten.contains(&claim), "{value:#}");
    let addresses = NODES.map(|node| {
        let shown = on(
            &lab,
            node,
            "ip -4 -o addr show enP7s7 | awk '{ print $4; exit }'",
        );
        shown.trim().split('/').next().unwrap().to_owned()
    });
    for (from, to) in [(0, 1), (1, 0)] {
        assert!(logs_in(&lab, NODES[from], NODES[to]), "{}", NODES[from]);
        assert!(
            logs_in(&lab, NODES[from], &addresses[to]),
            "{}",
            addresses[to]
        );
    }
    let mut ssh = desk.command("ssh");
    let output = ssh
        .args(["-o", "BatchMode=yes", "spark-b", "whoami"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"carol\n", "{output:?}");

    let done = homes();
    let again = desk.trust(&[NODES[0], NODES[1], "--timeout", "120"], None);
    for changed in [&again["nodes"][0], &again["nodes"][1], &again["controller"]] {
        assert_eq!(changed["changed"], serde_json::json!([]), "{again:#}");
    }
    assert_eq!(homes(), done);

    desk.trust(&["--undo", "--timeout", "120"], None);
    let after = homes();
    assert_eq!(after.0, before.0);
    assert_eq!(after.1, before.1);
    assert!(!logs_in(&lab, NODES[0], NODES[1]));
}

/// Nodes that trust each other before the fabric has addresses find each other there once `up` has proven it.
#[test]
fn up_adds_the_addresses_of_the_fabric() {
    let lab = bare_containers("two-sparks");
    let desk = Desk::new(&lab);
    let config = lab.ssh_config();
    let config = config.to_str().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let up = || {
        let mut command = desk.command(crosstie());
        command
            .arg("up")
            .args(NODES)
            .arg("-o")
            .arg(directory.path().join("cluster.toml"))
            .args(["--ssh-config", config, "--yes", "--force", "--json"])
            .args(["--become-password-fd", "0"])
            .env("XDG_STATE_HOME", directory.path())
            .stdin(typed(lab.password()));
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let notes: Vec<Value> = value["notes"].as_array().cloned().unwrap_or_default();
        let notes = notes.iter().map(|note| note.as_str().unwrap().to_owned());
        notes.collect::<Vec<String>>()
    };
    desk.trust(&[NODES[0], NODES[1], "--ssh-config", config], None);
    let notes = up();
    let prefix = "spark-a: ~/.ssh/crosstie/config: ";
    let found = notes.iter().find_map(|note| {
        let address = note.strip_prefix(prefix)?.strip_suffix(" is spark-b")?;
        Some(address.to_owned())
    });
    let address = found.unwrap_or_else(|| panic!("{notes:#?}"));
    let line = format!("runuser -l lab -c 'ssh -o BatchMode=yes {address} hostname'");
    assert_eq!(on(&lab, NODES[0], &line).trim(), "spark-b");

    desk.trust(&["--undo", "--ssh-config", config], None);
    let (before, notes) = (home_here(&desk.home()), up());
    assert!(
        !notes.iter().any(|note| note.contains(".ssh")),
        "{notes:#?}"
    );
    assert_eq!(home_here(&desk.home()), before);
    let keys = as_root(&lab, NODES[0], "test -e ~lab/.ssh/crosstie");
    assert_eq!(keys.0, Some(1), "{keys:?}");
}

fn begun(desk: &Desk, arguments: &[&str]) -> Child {
    let mut command = desk.command(crosstie());
    command.args(["trust", "--json"]).args(arguments);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Why it was not done: the error of each node, or that of the whole.
fn refusals(output: &Output) -> Vec<String> {
    let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
        return vec![String::from_utf8_lossy(&output.stderr).into_owned()];
    };
    let nodes = report["nodes"].as_array().unwrap().iter();
    let errors = nodes.filter_map(|node| node["error"].as_str());
    errors.map(str::to_owned).collect()
}

/// Two people at two desks, one of whom undoes what the other is about to set up: either it is done, or undone, or
/// somebody is told that it is neither.
#[test]
fn trust_and_its_undo_at_the_same_time_do_not_both_claim_success() {
    let lab = bare_containers("two-sparks");
    let config = lab.ssh_config();
    let config = config.to_str().unwrap();
    let reach = [NODES[0], NODES[1], "--ssh-config", config];
    let desks = [Desk::new(&lab), Desk::new(&lab)];
    for _ in 0..3 {
        desks[1].trust(&reach, None);
        let install = begun(&desks[0], &reach);
        let undo = begun(&desks[1], &["--undo", "--ssh-config", config]);
        let ended = [install, undo].map(|child| child.wait_with_output().unwrap());
        if ended.iter().all(|output| output.status.success()) {
            let logins = [(0, 1), (1, 0)].map(|(from, to)| {
                let line = format!(
                    "runuser -l lab -c 'ssh -o BatchMode=yes {} true'",
                    NODES[to]
                );
                as_root(&lab, NODES[from], &line).0 == Some(0)
            });
            assert_eq!(logins[0], logins[1], "{ended:?}");
            let left = NODES.map(|node| as_root(&lab, node, "test -e ~lab/.ssh/crosstie").0);
            let wanted = Some(i32::from(!logins[0]));
            assert_eq!(left, [wanted; 2], "{ended:?}");
        }
        // Whoever did not come through was told that somebody else is at work, and of nothing else.
        for output in ended.iter().filter(|output| !output.status.success()) {
            let reasons = refusals(output);
            let is_told = |why: &String| why.contains("another crosstie trust works in");
            assert!(
                !reasons.is_empty() && reasons.iter().all(is_told),
                "{output:?}"
            );
        }
        desks[0].trust(&["--undo", "--ssh-config", config], None);
    }
}
