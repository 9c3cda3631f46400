//! Changing the nodes of a lab.

use std::{
    collections::BTreeMap,
    fmt::Write,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use crosstie_lab::Lab;
use ipnet::Ipv4Net;
use serde_json::Value;

use crate::common::{
    command::Schema,
    lab::{sh, sh_within},
    sshd::{crosstie, typed},
};

/// Runs the binary with the lab's nodes in reach, and the password of their users on a pipe.
pub fn start(lab: &Lab, cluster: &Path, arguments: &[&str]) -> Child {
    command(lab, cluster, arguments).spawn().unwrap()
}

pub fn command(lab: &Lab, cluster: &Path, arguments: &[&str]) -> Command {
    let (verb, rest) = arguments.split_first().unwrap();
    let mut command = Command::new(crosstie());
    command
        .arg(verb)
        .arg("--cluster")
        .arg(cluster)
        .arg("--ssh-config")
        .arg(lab.ssh_config())
        .args(["--become-password-fd", "0"])
        .args(rest)
        .stdin(typed(lab.password()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub fn run(lab: &Lab, cluster: &Path, arguments: &[&str]) -> Output {
    start(lab, cluster, arguments).wait_with_output().unwrap()
}

/// What it printed, if it ended with `code`.
pub fn json(lab: &Lab, cluster: &Path, code: i32, arguments: &[&str]) -> Value {
    let mut arguments = arguments.to_vec();
    arguments.push("--json");
    let output = run(lab, cluster, &arguments);
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    let value = serde_json::from_slice(&output.stdout);
    let value = value.unwrap_or_else(|error| panic!("{error}: {said}"));
    keeps_its_schema(arguments[0], &value);
    value
}

/// What a command printed.
pub fn keeps_its_schema(command: &str, value: &Value) {
    let name = match command {
        _ if value.get("error").is_some() => "error",
        "rollback" | "uninstall" => "apply",
        other => other,
    };
    let valid = Schema::published(name).allows(value);
    valid.unwrap_or_else(|error| panic!("{command}: {error}: {value:#}"));
}

/// Node → outcome.
pub fn outcomes(changes: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes = changes["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| (text(&node["host"]), text(&node["outcome"])))
        .collect()
}

const FILES: &str = "cd /etc && find . \\( -type f -exec sha256sum {} + \\) | sort; \
     find . -printf '%M %u %g %l %p ' \\( -type f -printf '%T@\\n' -o -printf '\\n' \\) | sort";
const PORTS: &str = "for p in /sys/class/net/*np*; do i=${p##*/}; echo $i; cat $p/mtu; \
     ip -o link show dev $i | grep -o '[<,]UP[,>]' | tr -d '<,>'; ip -o addr show dev $i scope global | sed 's/ valid_lft.*//'; \
     grep -s '' /proc/sys/net/ipv4/conf/$i/* /proc/sys/net/ipv6/conf/$i/* | grep -v stable_secret; done; \
     systemctl list-unit-files --no-legend 'crosstie*'; true";

/// Everything below `/etc` with owner, mode and time; and of the ports everything that a change may touch.
pub fn shape(lab: &Lab, node: &str) -> String {
    sh(lab, node, &format!("{FILES}; {PORTS}"))
}

/// Interface, address with its prefix length, and MAC of every fabric port that has one.
fn fabric_addresses(lab: &Lab, node: &str) -> Vec<(String, Ipv4Net, String)> {
    let script = "ip -o -4 addr show scope global | while read -r _ i _ a _; do \
         case $i in *np*) echo $i $a $(cat /sys/class/net/$i/address) ;; esac; done";
    let shown = sh(lab, node, script);
    let parse = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let mut next = || words.next().unwrap();
        (next(), next().parse().unwrap(), next())
    };
    shown.lines().map(parse).collect()
}

/// Every fabric address of `to` answers `from` at 9000 bytes that may not be fragmented, at the MAC of its own port.
pub fn answers(lab: &Lab, from: &str, to: &str) {
    let theirs = fabric_addresses(lab, to);
    let mut script = String::new();
    let mut wanted = Vec::new();
    for (out, net, _) in fabric_addresses(lab, from) {
        for (_, address, mac) in &theirs {
            if address.trunc() == net.trunc() {
                let address = address.addr();
                write!(
                    script,
                    "ip neigh flush dev {out}; for n in 1 2 3; do \
                     ping -q -M do -s 8972 -c 1 -W 3 -I {out} {address} >&2 && break; done; ip neigh show {address} dev {out}; "
                )
                .unwrap();
                wanted.push((address, mac));
            }
        }
    }
    assert!(
        !wanted.is_empty(),
        "{from} has no address beside one of {to}"
    );
    let shown = sh(lab, from, &script);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), wanted.len(), "{shown}");
    for (line, (address, mac)) in lines.iter().zip(wanted) {
        assert!(line.contains(mac), "{address}: {line}, not {mac}");
    }
}

/// Until the node answers ssh and its start is through.
pub fn wait_for(lab: &Lab, node: &str) {
    let until = Instant::now() + Duration::from_secs(600);
    loop {
        let script = "systemctl is-system-running --wait >/dev/null; true";
        let asked = lab.exec_as_root(node, &["sh", "-c", script], Duration::from_secs(60));
        if asked.is_ok_and(|asked| asked.code == Some(0)) {
            return;
        }
        assert!(Instant::now() < until, "{node} does not come back");
        thread::sleep(Duration::from_secs(2));
    }
}

/// All at once, until each has started again.
pub fn reboot(lab: &Lab, nodes: &[&str]) {
    thread::scope(|scope| {
        for node in nodes {
            scope.spawn(|| {
                lab.reboot(node).unwrap();
                wait_for(lab, node);
            });
        }
    });
}

/// Over a connection of its own.
pub fn is_reachable(lab: &Lab, node: &str) -> bool {
    let asked = Command::new("ssh")
        .arg("-F")
        .arg(lab.ssh_config())
        .args([
            "-o",
            "ControlPath=none",
            "-o",
            "ConnectTimeout=8",
            node,
            "true",
        ])
        .output();
    asked.unwrap().status.success()
}

/// Until there is no guard any more, and nobody at work who may yet arm one.
pub fn wait_until_settled(lab: &Lab, node: &str) {
    once_settled(lab, node, "true");
}

/// Who, and what it has done.
const STILL_AT_WORK: &str = "ls -l /etc/systemd/system /var/lib/crosstie/changes/*; cat /var/lib/crosstie/changes/*/state.json; \
     lslocks; systemctl list-units --all 'crosstie*'; journalctl --no-pager -n 60; ps -ef";

/// What a script says then, at most a guard's longest time later: in the login that waits, since another takes an emulated node seconds.
pub fn once_settled(lab: &Lab, node: &str, script: &str) -> String {
    let guard = "/etc/systemd/system/crosstie-guard-wait.service";
    let lock = format!("{}/lock", crosstie_change::CHANGES_FOLDER);
    let settled =
        format!("[ ! -e {guard} ] && {{ [ ! -e {lock} ] || flock --nonblock {lock} true; }}");
    // Its unit goes after the one who waits, so nobody does by now.
    let waits = "systemctl --quiet is-active crosstie-guard-wait.service && { echo 'its guard still waits' >&2; exit 1; }";
    let script = format!(
        "for i in $(seq 300); do if {settled}; then {waits}; {script}; exit; fi; sleep 1; done; \
         exec >&2; echo 'a guard still waits, or somebody is at work'; {STILL_AT_WORK}; exit 1"
    );
    sh_within(lab, node, &script, Duration::from_secs(360))
}

/// Lines that are gone or new, marked so.
pub fn changed_lines(before: &str, after: &str) -> Vec<String> {
    let gone = before
        .lines()
        .filter(|line| !after.lines().any(|other| other == *line));
    let new = after
        .lines()
        .filter(|line| !before.lines().any(|other| other == *line));
    gone.map(|line| format!("- {line}"))
        .chain(new.map(|line| format!("+ {line}")))
        .collect()
}

pub fn same(node: &str, before: &str, after: &str) {
    let lines = changed_lines(before, after);
    assert!(
        lines.is_empty(),
        "{node} is not as it was:\n{}",
        lines.join("\n")
    );
}
