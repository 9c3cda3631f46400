//! Several runs on the same nodes: what is rolled back where, a cluster that is half configured, and a controller that
//! ends late.

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

use crosstie_agent::{Call, ChangeCall};
use crosstie_lab::Lab;
use crosstie_model::change::{
    ChangeError, ChangeReply, ChangeRequest, TransactionState, TryRequest,
};
use crosstie_reach::protocol::{
    AgentFrameReader, CallExchange, ExchangeEvent, MAGIC, ToAgent, encode_message,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{
    changes::{command, json, outcomes, run, same, shape, start, wait_until_settled},
    inits,
    lab::{containers, sh},
    sshd::{crosstie, typed},
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

fn shapes(lab: &Lab) -> [String; 2] {
    NODES.map(|node| shape(lab, node))
}

fn all_same(lab: &Lab, wanted: &[String; 2]) {
    for (node, wanted) in NODES.iter().zip(wanted) {
        same(node, wanted, &shape(lab, node));
    }
}

fn pairs(changes: &Value) -> Vec<(String, String)> {
    outcomes(changes).into_iter().collect()
}

fn each(a: &str, b: &str) -> Vec<(String, String)> {
    let outcomes = NODES.iter().zip([a, b]);
    outcomes
        .map(|(node, outcome)| ((*node).to_owned(), outcome.to_owned()))
        .collect()
}

/// Another size of packets, so that there is something to change.
fn edit_mtu(cluster: &Path) {
    let text = fs::read_to_string(cluster).unwrap();
    let edited = text.replace("mtu = 9000", "mtu = 8000");
    assert_ne!(edited, text, "no MTU to change");
    fs::write(cluster, edited).unwrap();
}

#[test]
fn rollback_is_of_a_run_and_leaves_other_nodes_alone() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    let before = shapes(&lab);
    let first = json(&lab, &cluster, 0, &["apply", "--yes"]);
    let configured = shapes(&lab);
    edit_mtu(&cluster);
    let second = json(&lab, &cluster, 0, &["apply", "spark-a", "--yes"]);
    assert_eq!(pairs(&second), each("confirmed", "")[..1], "{second:#}");
    let status = json(&lab, &cluster, 0, &["status"]);
    let run_of = |node: usize, index: usize| &status["nodes"][node]["transactions"][index]["run"];
    assert_eq!(run_of(0, 0), &first["run"]);
    assert_eq!(run_of(1, 0), &first["run"]);
    assert_eq!(run_of(0, 1), &second["run"]);

    let back = run(&lab, &cluster, &["rollback", "--yes"]);
    let said = String::from_utf8(back.stdout).unwrap();
    assert_eq!(back.status.code(), Some(0), "{said}");
    for words in [
        &format!("rollback of run {}", second["run"].as_str().unwrap()),
        "spark-b  left alone: not part of it",
        "spark-b  unchanged    not part of it",
    ] {
        assert!(said.contains(words), "lacks '{words}':\n{said}");
    }
    all_same(&lab, &configured);

    let back = json(&lab, &cluster, 0, &["rollback", "--yes"]);
    assert_eq!(pairs(&back), each("rolled-back", "rolled-back"), "{back:#}");
    assert_eq!(back["rollback"]["run"], first["run"]);
    all_same(&lab, &before);
    let back = json(&lab, &cluster, 0, &["rollback", "--yes"]);
    assert_eq!(pairs(&back), each("unchanged", "unchanged"), "{back:#}");
}

/// Until a node says that it rolls back.
const ROLLING_BACK: &str = "timeout 60 sh -c 'until grep -qs rolling-back /var/lib/crosstie/changes/*/state.json; do \
     sleep 0.05; done'";

#[test]
fn an_apply_beside_a_rollback_says_what_becomes_true() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    // Whoever cannot see what would be changed has not agreed to it, whatever was passed.
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let unseen = command(&lab, &cluster, &["apply", "--yes"])
        .stdout(full)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&unseen.stderr);
    assert_eq!(unseen.status.code(), Some(2), "{said}");
    assert!(said.contains("nothing was changed"), "{said}");
    let applied = json(&lab, &cluster, 0, &["apply", "--yes"]);
    assert_eq!(pairs(&applied), each("confirmed", "confirmed"));

    let back = start(&lab, &cluster, &["rollback", "--yes"]);
    sh(&lab, "spark-a", ROLLING_BACK);
    let applied = run(&lab, &cluster, &["apply", "--yes", "--json"]);
    let back = back.wait_with_output().unwrap();
    assert_eq!(back.status.code(), Some(0), "{back:?}");
    let status = run(&lab, &cluster, &["status", "--json"]);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    // Where it was too early, it says nothing of nodes.
    let changes: Value = serde_json::from_slice(&applied.stdout).unwrap_or_default();
    let told = changes["nodes"].as_array().cloned().unwrap_or_default();
    let fine = told.iter().filter(|node| {
        let outcome = node["outcome"].as_str();
        matches!(outcome, Some("unchanged" | "confirmed"))
    });
    for node in fine {
        let found = status["nodes"].as_array().unwrap().iter();
        let mut found = found.filter(|found| found["host"] == node["host"]);
        assert_eq!(found.next().unwrap()["state"], "confirmed", "{changes:#}");
    }
    assert!(
        !told.is_empty() || applied.status.code() == Some(2),
        "{applied:?}"
    );
}

#[test]
fn a_rollback_that_is_interrupted_says_what_becomes_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    let before = shape(&lab, "spark-a");
    json(&lab, &cluster, 0, &["apply", "--yes"]);
    let back = start(&lab, &cluster, &["rollback", "--yes"]);
    sh(&lab, "spark-a", ROLLING_BACK);
    kill_process(Pid::from_child(&back), Signal::INT).unwrap();
    let said = back.wait_with_output().unwrap().stderr;
    let said = String::from_utf8(said).unwrap();
    for wanted in ["goes on by itself", "crosstie status", "finishes it"] {
        assert!(said.contains(wanted), "no '{wanted}' in {said}");
    }
    wait_until_settled(&lab, "spark-a");
    same("spark-a", &before, &shape(&lab, "spark-a"));
    let failed = sh(
        &lab,
        "spark-a",
        "systemctl list-units --failed --no-legend 'crosstie*'",
    );
    assert_eq!(failed, "");
}

/// As printed, in a shell.
fn pasted(lab: &Lab, command: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(crosstie(), folder.path().join("crosstie")).unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-c", command])
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .stdin(typed(lab.password()))
        .output()
        .unwrap();
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(output.status.success(), "{command}: {said}");
    said
}

#[test]
fn a_half_configured_cluster_is_told_with_what_makes_it_whole() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    let before = shapes(&lab);
    let halve = || {
        sh(
            &lab,
            "spark-b",
            "mount --bind /etc /etc && mount -o remount,bind,ro /etc",
        );
        let changed = json(&lab, &cluster, 1, &["apply", "--yes"]);
        sh(&lab, "spark-b", "umount /etc");
        assert_eq!(pairs(&changed), each("confirmed", "refused"), "{changed:#}");
        changed["half_configured"].clone()
    };
    let command = |half: &Value, which: &str| half[which].as_str().unwrap().to_owned();
    let half = halve();
    assert_eq!(half["confirmed"], serde_json::json!(["spark-a"]));
    pasted(&lab, &command(&half, "undo"));
    all_same(&lab, &before);

    let half = halve();
    pasted(&lab, &command(&half, "again"));
    let status = json(&lab, &cluster, 0, &["status"]);
    let mut found = status["nodes"].as_array().unwrap().iter();
    assert!(found.all(|node| node["state"] == "confirmed"), "{status:#}");
}

/// The agent of one controller, over a connection of its own.
struct Agent {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    frames: AgentFrameReader,
    calls: u64,
}

impl Agent {
    fn start(lab: &Lab, node: &str) -> Self {
        // Nobody pings.
        let script =
            "sudo $(sudo find /var/lib/crosstie/bin -type f | head -1) agent --silence 600000";
        let mut child = Command::new("ssh")
            .arg("-F")
            .arg(lab.ssh_config())
            .args(["-o", "ControlPath=none", node, script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut agent = Self {
            child,
            input,
            output,
            frames: AgentFrameReader::default(),
            calls: 0,
        };
        agent.skip_greeting();
        agent
    }

    /// A line, and nothing that is not of it.
    fn skip_greeting(&mut self) {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") || !String::from_utf8_lossy(&line).contains(MAGIC) {
            let mut byte = [0];
            self.output.read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
    }

    fn ask(&mut self, ask: &ChangeRequest) -> Result<ChangeReply, ChangeError> {
        self.calls += 1;
        let call = ToAgent::Call {
            id: self.calls,
            deadline_ms: 60_000,
            name: ChangeCall::NAME.to_owned(),
        };
        let ask = serde_json::to_vec(ask).unwrap();
        self.input
            .write_all(&encode_message(&call, &ask).unwrap())
            .unwrap();
        let mut exchange = CallExchange::default();
        exchange.begin(self.calls);
        let mut buffer = [0; 4096];
        loop {
            while let Some(frame) = self.frames.next_frame().unwrap() {
                if let ExchangeEvent::Done { result, .. } = exchange.take(&frame).unwrap() {
                    return serde_json::from_slice(&result.unwrap()).unwrap();
                }
            }
            let length = self.output.read(&mut buffer).unwrap();
            assert_ne!(length, 0, "the agent ended");
            self.frames.push(&buffer[..length]);
        }
    }

    /// An address of its own, to be confirmed.
    fn tries(&mut self, last: u8) -> String {
        let command = format!("ip address add 198.51.100.{last}/32 dev enp1s0f0np0");
        let trial = TryRequest {
            force: false,
            run: format!("20261116T100000Z-{last:08x}"),
            command: command.split(' ').map(str::to_owned).collect(),
            files: Vec::new(),
            guard_seconds: 300,
            command_seconds: 30,
        };
        match self.ask(&ChangeRequest::Try(trial)).unwrap() {
            ChangeReply::Armed(armed) => armed.transaction,
            other => panic!("{other:?}"),
        }
    }

    fn confirms(&mut self, transaction: &str) {
        let transaction = transaction.to_owned();
        let answer = self.ask(&ChangeRequest::Confirm { transaction });
        assert_eq!(answer, Ok(ChangeReply::Confirmed));
    }

    fn state_of(&mut self, transaction: &str) -> Option<TransactionState> {
        let ChangeReply::Status(status) = self.ask(&ChangeRequest::Status).unwrap() else {
            panic!()
        };
        let mut all = status.transactions.into_iter();
        all.find(|one| one.id == transaction).map(|one| one.state)
    }

    fn leaves(self) {
        let Self {
            mut child,
            input,
            output,
            ..
        } = self;
        drop((input, output));
        child.wait().unwrap();
    }
}

/// More than a guard needs that is started now.
const LATER_TIMEOUT: Duration = Duration::from_secs(5);

#[test]
fn a_controller_that_leaves_late_ends_no_change_but_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    // An agent of root's is there then.
    json(&lab, &cluster, 0, &["status", "spark-a"]);
    let before = shape(&lab, "spark-a");

    let mut late = Agent::start(&lab, "spark-a");
    let first = late.tries(7);
    // As `apply` does: over a connection of its own.
    let mut other = Agent::start(&lab, "spark-a");
    other.confirms(&first);
    let second = other.tries(8);
    late.leaves();
    thread::sleep(LATER_TIMEOUT);
    assert_eq!(other.state_of(&second), Some(TransactionState::Applied));
    other.confirms(&second);

    // What is its own goes at once, long before its guard's time.
    let third = other.tries(9);
    other.leaves();
    wait_until_settled(&lab, "spark-a");
    let mut last = Agent::start(&lab, "spark-a");
    assert_eq!(last.state_of(&third), Some(TransactionState::RolledBack));
    assert_eq!(last.state_of(&second), Some(TransactionState::Confirmed));
    last.leaves();
    for _ in 0..2 {
        json(&lab, &cluster, 0, &["rollback", "spark-a", "--yes"]);
    }
    same("spark-a", &before, &shape(&lab, "spark-a"));
}
