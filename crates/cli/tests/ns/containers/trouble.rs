//! Changes that cannot be made, or must not stay: foreign files, no room, nothing writable, an edit, a plan that cuts the
//! node off.

#![allow(clippy::print_stdout)] // how long a node was cut off is worth knowing

use std::{
    fs::File,
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crosstie_agent::Call;
use crosstie_lab::Lab;
use crosstie_model::{
    NodePlan, PlanStep,
    change::{ApplyRequest, ChangeRequest},
    plan::{InterfaceUp, ValueChange},
};
use crosstie_reach::protocol::{ToAgent, encode_message};

use crate::common::{
    changes::{self, json, run, same, shape},
    inits,
    lab::{containers_with, sh},
};

const NODE: &str = "spark-a";
const GUARD_TIMEOUT: Duration = Duration::from_secs(20);
/// For a node to roll back, and for ssh to be there again.
const SLACK_TIMEOUT: Duration = Duration::from_secs(60);

type Scenario = fn(&TroubleLab<'_>);

struct TroubleLab<'a> {
    lab: &'a Lab,
    cluster: &'a Path,
}

impl TroubleLab<'_> {
    fn sh(&self, script: &str) -> String {
        sh(self.lab, NODE, script)
    }

    /// It says each of these words, and the node is what it was before.
    fn refuses(&self, arguments: &[&str], words: &[&str]) {
        let before = shape(self.lab, NODE);
        let output = run(self.lab, self.cluster, arguments);
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}: {said}");
        for word in words {
            assert!(said.contains(word), "lacks {word}: {said}");
        }
        assert!(!said.contains(self.lab.password()), "{said}");
        same(NODE, &before, &shape(self.lab, NODE));
    }
}

#[test]
fn trouble_is_told_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers_with("spark-a", "disk_mib = 400");
    inits::json(&lab, &["spark-a", "spark-b"], &cluster);
    let place = TroubleLab {
        lab: &lab,
        cluster: &cluster,
    };
    let scenarios: [(&str, Scenario); 5] = [
        ("a foreign netplan file", a_foreign_netplan_file),
        ("read-only /etc", nothing_writable),
        ("a full disk", no_room),
        ("management cut", a_plan_that_cuts_management),
        ("an edit", an_edit_of_a_managed_file),
    ];
    for (name, scenario) in scenarios {
        let started = Instant::now();
        scenario(&place);
        println!("{:5.1} s  {name}", started.elapsed().as_secs_f64());
    }
    let logged = place.sh(&format!(
        "journalctl --no-pager | grep -cF '{}' || true",
        lab.password()
    ));
    assert_eq!(logged.trim(), "0");
}

fn a_foreign_netplan_file(place: &TroubleLab<'_>) {
    let file = "/etc/netplan/60-mine.yaml";
    let write = |ports: &str| {
        let begin = "network:\\n  version: 2\\n  renderer: NetworkManager\\n  ethernets:\\n";
        place.sh(&format!("umask 077; printf '{begin}{ports}' > {file}"));
    };
    let fabric = "    enp1s0f0np0:\\n      addresses: [192.0.2.9/24]\\n";
    // One that is about the node's own network, too, is a person's to change.
    write(&format!("{fabric}    enP7s7:\\n      dhcp4: true\\n"));
    place.refuses(&["apply", NODE, "--yes"], &[NODE, file]);
    // One that is about the port alone is set aside, and comes back.
    write(fabric);
    let before = shape(place.lab, NODE);
    json(place.lab, place.cluster, 0, &["apply", NODE, "--yes"]);
    let after = place.sh("ls /etc/netplan");
    assert!(after.contains("60-mine.yaml.crosstie~"), "{after}");
    json(place.lab, place.cluster, 0, &["rollback", NODE, "--yes"]);
    same(NODE, &before, &shape(place.lab, NODE));
    place.sh(&format!(
        "rm {file}; netplan generate; nmcli connection reload"
    ));
}

fn nothing_writable(place: &TroubleLab<'_>) {
    place.sh("mount --bind /etc /etc && mount -o remount,bind,ro /etc");
    place.refuses(&["apply", NODE, "--yes"], &[NODE, "/etc", "ead-only"]);
    place.sh("umount /etc");
}

fn no_room(place: &TroubleLab<'_>) {
    // What an agent needs is there already; the journal does not fit any more.
    place.sh("dd if=/dev/zero of=/var/tmp/filler bs=64k 2>/dev/null; [ $(stat -fc %f /) = 0 ]");
    place.refuses(&["apply", NODE, "--yes"], &[NODE, "No space left"]);
    place.sh("rm /var/tmp/filler*");
    let status = run(place.lab, place.cluster, &["status", NODE]);
    assert_eq!(status.status.code(), Some(0), "{status:?}");
}

/// The plan takes the port that ssh comes in by for one that nothing is plugged into.
fn a_plan_that_cuts_management(place: &TroubleLab<'_>) {
    let before = shape(place.lab, NODE);
    let planned = json(place.lab, place.cluster, 0, &["plan", NODE, "--sudo"]);
    let mut plan: NodePlan = serde_json::from_value(planned["nodes"][0].clone()).unwrap();
    plan.steps = vec![PlanStep::from(InterfaceUp {
        interface: "enP7s7".to_owned(),
        up: ValueChange {
            from: true,
            to: false,
        },
    })];
    let order = ApplyRequest {
        run: "20261115T100000Z-00000001".to_owned(),
        cluster: "a lie".to_owned(),
        plan,
        guard_seconds: GUARD_TIMEOUT.as_secs().try_into().unwrap(),
        force: false,
    };
    let answers = place.cluster.with_file_name("answers");
    let mut agent = agent(place.lab, &answers);
    let call = ToAgent::Call {
        id: 1,
        deadline_ms: 600_000,
        name: crosstie_agent::ChangeCall::NAME.to_owned(),
    };
    let ask = serde_json::to_vec(&ChangeRequest::Apply(Box::new(order))).unwrap();
    let mut input = agent.stdin.take().unwrap();
    // Once the node is cut off, nobody hears it.
    let mut say = |message: &ToAgent, ask: &[u8]| {
        let _ = input.write_all(&encode_message(message, ask).unwrap());
        thread::sleep(Duration::from_secs(1));
    };
    // Counted on the node itself: a login that begins before the cut may wait until after it.
    place.sh(
        "systemd-run --quiet --unit=watch sh -c \
         'while sleep 1; do grep -q 0x1002 /sys/class/net/enP7s7/flags && echo down; done > /run/watch'",
    );
    say(&call, &ask);
    let started = Instant::now();
    let is_back = || {
        let asked = "for d in /var/lib/crosstie/changes/*/; do \
             grep -q 'a lie' $d/journal.json && grep -q rolled-back $d/state.json && exit 0; done; exit 1";
        let asked = place
            .lab
            .exec_as_root(NODE, &["sh", "-c", asked], Duration::from_secs(15));
        asked.is_ok_and(|asked| asked.code == Some(0))
    };
    while !is_back() {
        say(&ToAgent::Ping, &[]);
        assert!(
            started.elapsed() < GUARD_TIMEOUT + 2 * SLACK_TIMEOUT,
            "cut off for good: {}",
            String::from_utf8_lossy(&std::fs::read(&answers).unwrap())
        );
    }
    let down = place.sh("systemctl stop watch; grep -c down /run/watch");
    println!("cut off for {} s", down.trim());
    let down = Duration::from_secs(down.trim().parse().unwrap());
    // The agent gives a silent controller up before the guard's time comes.
    assert!(
        down > Duration::from_secs(3) && down < GUARD_TIMEOUT + SLACK_TIMEOUT,
        "{down:?}"
    );
    agent.kill().unwrap();
    agent.wait().unwrap();
    changes::wait_until_settled(place.lab, NODE);
    same(NODE, &before, &shape(place.lab, NODE));
}

/// The one that was brought before, by hand.
fn agent(lab: &Lab, answers: &Path) -> Child {
    Command::new("ssh")
        .arg("-F")
        .arg(lab.ssh_config())
        .args([
            NODE,
            "sudo $(sudo find /var/lib/crosstie/bin -type f | head -1) agent",
        ])
        .stdin(Stdio::piped())
        .stdout(File::create(answers).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn an_edit_of_a_managed_file(place: &TroubleLab<'_>) {
    let file = "/etc/sysctl.d/90-crosstie.conf";
    json(place.lab, place.cluster, 0, &["apply", "--yes"]);
    let modes = place.sh("find /var/lib/crosstie -maxdepth 1 -printf '%f %m %u\\n'");
    assert!(modes.contains("changes 700 root"), "{modes}");
    place.sh(&format!("echo '# mine' >> {file}"));
    place.refuses(&["apply", NODE, "--yes"], &[NODE, file]);
    place.refuses(&["rollback", NODE, "--yes"], &[NODE, file]);
    json(
        place.lab,
        place.cluster,
        0,
        &["rollback", NODE, "--yes", "--force"],
    );
    let kept = place.sh(&format!(
        "ls {file} 2>/dev/null; grep -rl '^# mine' /var/lib/crosstie /etc/sysctl.d"
    ));
    assert_eq!(kept.lines().count(), 1, "{kept}");
}
