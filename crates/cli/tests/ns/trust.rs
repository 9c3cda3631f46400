//! `crosstie trust` between users of real sshds that take passwords. The controller is one of those users: its home
//! directory is the test's, also for ssh, which asks passwd for it.

#![allow(clippy::format_push_string)]

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::sshd::{Node, NodeSetup, PASSWORD, SshNodes, crosstie, processes, typed};

/// Every file and folder of a home directory: its mode, owner and text.
type Tree = BTreeMap<PathBuf, (u32, u32, Vec<u8>)>;

fn tree(path: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let status = fs::symlink_metadata(&path).unwrap();
        let mut text = Vec::new();
        if status.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if status.is_file() {
            text = fs::read(&path).unwrap();
        }
        tree.insert(path, (status.mode() & 0o7777, status.uid(), text));
    }
    tree
}

/// A desk and its nodes, of which only passwords are known.
struct Office {
    place: SshNodes,
    nodes: Vec<String>,
}

/// Nobody resolves these names otherwise.
const NAMES: &str = "{ cat /etc/hosts; echo 127.0.0.1 a b c nas; } > $HOME.hosts; mount --bind $HOME.hosts /etc/hosts";

impl Office {
    fn new(nodes: &[&str]) -> Self {
        Self::furnished(nodes, |_| NAMES)
    }

    /// Each node with what runs before its sshd.
    fn furnished(nodes: &[&str], mounts: impl Fn(&str) -> &'static str) -> Self {
        let mut place = SshNodes::new();
        for name in ["desk"].iter().chain(nodes) {
            let stock = NodeSetup {
                stock: true,
                mounts: mounts(name),
                ..NodeSetup::default()
            };
            place.node(name, &stock);
        }
        let program = place.path("crosstie");
        fs::copy(crosstie(), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let office = Self {
            place,
            nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        };
        let mut config = String::new();
        for name in nodes {
            let port = office.node(name).port;
            config += &format!("Host {name}\n  HostName 127.0.0.1\n  Port {port}\n");
        }
        // No end of line, and more for others than ssh likes.
        config += "# mine";
        office.write("desk", ".ssh/config", &config, 0o664);
        office
    }

    fn node(&self, name: &str) -> &Node {
        self.place
            .nodes
            .iter()
            .find(|node| node.name == name)
            .unwrap()
    }

    fn write(&self, node: &str, path: &str, text: &str, mode: u32) {
        let path = self.node(node).home.join(path);
        let folder = path.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for path in [folder, &path] {
            std::os::unix::fs::chown(path, Some(4242), Some(4242)).unwrap();
        }
    }

    fn fingerprint(&self, name: &str) -> String {
        let line = format!(
            "ssh-keygen -lf {}",
            self.place.path(&format!("host-{name}.pub")).display()
        );
        let output = self.node("desk").shell(&line).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split(' ').nth(1).unwrap().to_owned()
    }

    fn approving(&self) -> String {
        let all = self
            .nodes
            .iter()
            .map(|name| format!(" --fingerprint {}", self.fingerprint(name)));
        all.collect()
    }

    /// With a password on a pipe that the user's own shell has made: the test's is root's.
    fn command(&self, line: &str, password: Option<&str>) -> std::process::Command {
        let program = self.place.path("crosstie");
        let line = format!("{} trust --json {line}", program.display());
        let desk = self.node("desk");
        let Some(password) = password else {
            return desk.shell(&line);
        };
        let mut command = desk.shell(&format!("cat | {line} --password-fd 0"));
        command.stdin(typed(password));
        command
    }

    fn run(&self, line: &str, password: Option<&str>) -> (Value, Output) {
        Self::json(&mut self.command(line, password))
    }

    fn json(command: &mut std::process::Command) -> (Value, Output) {
        let output = command.output().unwrap();
        let value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let said =
            String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat())
                .into_owned();
        assert!(!said.contains(PASSWORD), "{said}");
        (value, output)
    }

    fn done(&self, line: &str, password: Option<&str>) -> Value {
        let (value, output) = self.run(line, password);
        assert!(
            output.status.success(),
            "{value:#}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        value
    }

    fn homes(&self) -> Vec<Tree> {
        self.place
            .nodes
            .iter()
            .map(|node| tree(&node.home))
            .collect()
    }

    /// Whether one is let in by the other without a word.
    fn logs_in(&self, from: &str, to: &str) -> bool {
        self.login(from, to).is_ok()
    }

    /// What ssh complains of, if it does.
    fn login(&self, from: &str, to: &str) -> Result<(), String> {
        let line = format!("ssh -o BatchMode=yes -o ConnectTimeout=5 {to} whoami");
        let output = self.node(from).shell(&line).output().unwrap();
        if output.status.success() && output.stdout == b"alice\n" {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn known_hosts(&self, node: &str, host: &str, key: &str) {
        let key = fs::read_to_string(self.place.path(key)).unwrap();
        let line = format!("{host} {key}");
        self.write(node, ".ssh/known_hosts", &line, 0o600);
    }
}

fn changes(value: &Value) -> Vec<&Value> {
    let nodes = value["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| &node["changed"]);
    let all = nodes.chain([&value["controller"]["changed"]]);
    all.flat_map(|changed| changed.as_array().unwrap())
        .collect()
}

fn error(value: &Value, node: usize) -> &str {
    value["nodes"][node]["error"].as_str().unwrap_or_default()
}

#[test]
fn ns_passwords_become_keys_and_are_taken_back() {
    let office = Office::new(&["a", "b"]);
    office.write(
        "a",
        ".ssh/authorized_keys",
        "ssh-rsa AAAA without an end",
        0o664,
    );
    fs::set_permissions(&office.node("b").home, fs::Permissions::from_mode(0o775)).unwrap();
    let before = office.homes();

    // Nobody knows the keys, and nobody is there to ask.
    let (value, output) = office.run("a b", Some(PASSWORD));
    assert_eq!(output.status.code(), Some(2));
    for (index, name) in ["a", "b"].into_iter().enumerate() {
        assert!(
            error(&value, index).contains(&office.fingerprint(name)),
            "{value:#}"
        );
        assert_eq!(
            value["nodes"][index]["host_key"],
            office.fingerprint(name).as_str()
        );
    }
    let approved = format!("a b {}", office.approving());
    let (value, _) = office.run(&approved, Some("wrong horse"));
    assert!(
        error(&value, 0).contains("did not accept the password"),
        "{value:#}"
    );
    let (value, _) = office.run(&approved, None);
    assert!(error(&value, 1).contains("--password-fd"), "{value:#}");
    assert_eq!(office.homes(), before, "nothing was changed so far");

    let rehearsed = office.done(&format!("{approved} --dry-run"), Some(PASSWORD));
    assert!(changes(&rehearsed).len() > 10, "{rehearsed:#}");
    assert_eq!(office.homes(), before, "a rehearsal changes nothing");

    let value = office.done(&approved, Some(PASSWORD));
    let mut told: Vec<String> = changes(&value).iter().map(ToString::to_string).collect();
    let mut foreseen: Vec<String> = changes(&rehearsed)
        .iter()
        .map(ToString::to_string)
        .collect();
    told.sort();
    foreseen.sort();
    assert_eq!(told, foreseen);
    for (from, to) in [("desk", "a"), ("desk", "b"), ("a", "b"), ("b", "a")] {
        assert!(office.logs_in(from, to), "{from} → {to}");
    }
    assert!(!office.logs_in("a", "desk"));
    let done = office.homes();
    let again = office.done("a b", None);
    assert_eq!(changes(&again), Vec::<&Value>::new());
    assert_eq!(office.homes(), done, "a second run changes nothing");

    let undone = office.done("--undo", None);
    assert!(!changes(&undone).is_empty());
    for (now, before) in office.homes().iter().zip(&before) {
        assert_eq!(now, before);
    }
    assert!(!office.logs_in("desk", "a") && !office.logs_in("a", "b"));
}

#[test]
fn ns_nodes_come_and_go_and_edits_stay() {
    let office = Office::new(&["a", "b", "c"]);
    let before = office.homes();
    let approving = office.approving();
    office.done(&format!("a b {approving}"), Some(PASSWORD));
    office.done(&format!("a b c {approving}"), Some(PASSWORD));
    assert!(office.logs_in("a", "c") && office.logs_in("c", "b") && office.logs_in("desk", "c"));

    office.done("--undo c", None);
    assert_eq!(tree(&office.node("c").home), before[3]);
    assert!(office.logs_in("a", "b") && office.logs_in("desk", "b"));
    assert!(!office.logs_in("a", "c") && !office.logs_in("desk", "c"));
    let keys = fs::read_to_string(office.node("a").home.join(".ssh/authorized_keys")).unwrap();
    assert!(keys.contains("@b") && !keys.contains("@c"), "{keys}");

    let home = &office.node("a").home;
    let path = home.join(".ssh/authorized_keys");
    fs::write(&path, format!("{keys}ssh-rsa AAAA theirs\n")).unwrap();
    office.done("--undo", None);
    assert_eq!(fs::read_to_string(&path).unwrap(), "ssh-rsa AAAA theirs\n");
    assert!(!home.join(".ssh/crosstie").exists() && !home.join(".cache").exists());
    assert_eq!(tree(&office.node("b").home), before[2]);
    assert_eq!(tree(&office.node("desk").home), before[0]);
}

#[test]
fn ns_host_keys_that_changed_are_refused() {
    let office = Office::new(&["a", "b"]);
    let port = office.node("a").port;
    let key = fs::read_to_string(office.place.path("host-a.pub")).unwrap();
    let other = fs::read_to_string(office.place.path("id.pub")).unwrap();
    // One that the user's ssh knows is taken without a word; another one in its place is not taken at all.
    office.write(
        "desk",
        ".ssh/known_hosts",
        &format!("[127.0.0.1]:{port} {other}"),
        0o600,
    );
    let before = office.homes();
    let (value, _) = office.run(&format!("a {}", office.approving()), Some(PASSWORD));
    assert!(
        error(&value, 0).contains("not the one that is known"),
        "{value:#}"
    );
    assert_eq!(office.homes(), before);
    office.write(
        "desk",
        ".ssh/known_hosts",
        &format!("[127.0.0.1]:{port} {key}"),
        0o600,
    );
    let (value, output) = office.run("a b", Some(PASSWORD));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(error(&value, 0), "");
    assert!(error(&value, 1).contains("does not know its host key"));
    assert!(office.logs_in("desk", "a") && !office.logs_in("desk", "b"));

    // The pin holds, whatever else the user's ssh knows.
    let config = office.node("desk").home.join(".ssh/crosstie/known_hosts");
    let journal = office.node("desk").home.join(".ssh/crosstie/journal.json");
    let (right, wrong) = (
        key.split(' ').nth(1).unwrap(),
        other.split(' ').nth(1).unwrap(),
    );
    for path in [&config, &journal] {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(right));
        fs::write(path, text.replace(right, wrong)).unwrap();
    }
    let (value, _) = office.run("a", Some(PASSWORD));
    assert!(error(&value, 0).contains("not the one that"), "{value:#}");
    assert!(!office.logs_in("desk", "a"));
    // It cannot be undone there any more, but it can be forgotten here.
    let (value, output) = office.run("--undo", None);
    assert_eq!(output.status.code(), Some(2), "{value:#}");
    let (_, output) = office.run("--undo --forget", None);
    assert_eq!(output.status.code(), Some(2));
    assert!(!journal.exists());
}

/// The claims of `peer` that a machine did not believe.
fn unwritten(machine: &Value, peer: &str) -> Vec<(String, String)> {
    let claims = machine["unwritten"].as_array().unwrap().iter();
    let claims = claims.filter(|claim| claim["peer"] == peer);
    let text = |claim: &Value, field: &str| claim[field].as_str().unwrap().to_owned();
    claims
        .map(|claim| (text(claim, "alias"), text(claim, "reason")))
        .collect()
}

fn aliases(machine: &Value) -> Vec<&str> {
    let aliases = machine["aliases"].as_array().unwrap().iter();
    aliases
        .map(|alias| alias["alias"].as_str().unwrap())
        .collect()
}

/// A node that calls itself by another machine's name is not taken for that machine, and the machine itself is still judged
/// by its own key.
#[test]
fn ns_a_node_is_no_other_machine_for_saying_so() {
    let office = Office::furnished(&["a", "b", "nas"], |name| match name {
        "b" => {
            "{ cat /etc/hosts; echo 127.0.0.1 a b c nas; } > $HOME.hosts; mount --bind $HOME.hosts /etc/hosts; \
             echo nas > /proc/sys/kernel/hostname"
        }
        _ => NAMES,
    });
    let port = office.node("nas").port;
    let nas = format!("Host nas\n  HostName 127.0.0.1\n  Port {port}\n");
    office.write("a", ".ssh/config", &nas, 0o600);
    let by_port = format!("[127.0.0.1]:{port}");
    for node in ["a", "desk"] {
        office.known_hosts(node, &by_port, "host-nas.pub");
    }
    let all = format!(". a b {}", office.approving());
    let is_itself = |from: &str| {
        let refusal = office.login(from, "nas").unwrap_err();
        assert!(refusal.contains("Permission denied"), "{from}: {refusal}");
    };
    let value = office.done(&all, Some(PASSWORD));
    assert!(office.logs_in("a", "b") && office.logs_in("desk", "b"));
    for (node, machine) in [("a", &value["nodes"][1]), ("desk", &value["controller"])] {
        is_itself(node);
        let refused = [("nas".to_owned(), "known_hosts".to_owned())];
        assert_eq!(unwritten(machine, "b"), refused, "{value:#}");
        assert!(!aliases(machine).contains(&"nas"), "{value:#}");
        let config = office.node(node).home.join(".ssh/crosstie/config");
        assert!(!fs::read_to_string(config).unwrap().contains("nas"));
    }
    for node in ["a", "desk"] {
        office.known_hosts(node, &by_port, "host-b.pub");
        let refusal = office.login(node, "nas").unwrap_err();
        assert!(refusal.contains("IDENTIFICATION HAS CHANGED"), "{refusal}");
    }

    // Its key is shown there, and known to nobody.
    office.write("a", ".ssh/known_hosts", "", 0o600);
    let value = office.done(&all, None);
    let refused = [("nas".to_owned(), "another_key".to_owned())];
    assert_eq!(unwritten(&value["nodes"][1], "b"), refused, "{value:#}");

    // The name leads to the node, and another key is known for it.
    fs::remove_file(office.node("a").home.join(".ssh/config")).unwrap();
    office.known_hosts("a", "nas", "host-nas.pub");
    let hashed = office.node("a").shell(
        "ssh-keygen -H -f .ssh/known_hosts 2> /dev/null > /dev/null && rm .ssh/known_hosts.old",
    );
    assert!({ hashed }.status().unwrap().success());
    let value = office.done(&all, None);
    let refused = [("nas".to_owned(), "known_hosts".to_owned())];
    assert_eq!(unwritten(&value["nodes"][1], "b"), refused, "{value:#}");

    // Nothing speaks against it any more.
    office.write("a", ".ssh/known_hosts", "", 0o600);
    let value = office.done(&all, None);
    assert!(aliases(&value["nodes"][1]).contains(&"nas"), "{value:#}");
    let told = Value::from("~/.ssh/crosstie/config: nas is b");
    assert!(changes(&value).contains(&&told), "{value:#}");
    assert!(office.logs_in("a", "nas"));
    office.done("--undo", None);
}

#[test]
fn ns_this_machine_may_be_a_node() {
    let office = Office::new(&["a"]);
    let before = office.homes();
    let host_key = fs::read_to_string("/etc/ssh/ssh_host_ed25519_key.pub");
    assert!(
        host_key.is_ok(),
        "this test needs host keys (ssh-keygen -A)"
    );
    let value = office.done(&format!(". a {}", office.approving()), Some(PASSWORD));
    assert_eq!(value["nodes"][0]["host"], ".");
    assert!(office.logs_in("desk", "a"));
    let keys = fs::read_to_string(office.node("desk").home.join(".ssh/authorized_keys")).unwrap();
    assert!(keys.contains("crosstie:alice@a"), "{keys}");
    assert_eq!(changes(&office.done(". a", None)), Vec::<&Value>::new());
    office.done("--undo", None);
    assert_eq!(office.homes(), before);
}

/// The jump host is let in by its own new key, gets no password of the other's, and is undone last.
#[test]
fn ns_a_node_behind_another_is_trusted() {
    let office = Office::new(&["a", "b"]);
    let config = fs::read_to_string(office.node("desk").home.join(".ssh/config")).unwrap();
    let far = format!(
        "\nHost far\n  HostName 127.0.0.1\n  Port {}\n  ProxyJump a\n",
        office.node("b").port
    );
    office.write("desk", ".ssh/config", &(config + &far), 0o600);
    let before = office.homes();
    let approving = office.approving();
    let (value, _) = office.run(&format!("far {approving}"), Some(PASSWORD));
    assert_ne!(error(&value, 0), "", "nobody lets us pass");
    assert_eq!(office.homes(), before);
    office.done(&format!("a {approving}"), Some(PASSWORD));
    office.done(&format!("far {approving}"), Some(PASSWORD));
    assert!(office.logs_in("desk", "far"));
    office.done("--undo", None);
    assert_eq!(office.homes(), before);
}

/// At any moment: what is there then is finished by the next run, or undone.
#[test]
fn ns_a_killed_run_is_finished_or_undone() {
    let office = Office::new(&["a", "b"]);
    let before = office.homes();
    let approved = format!("a b {}", office.approving());
    for round in 0..4u64 {
        let mut command = office.command(&approved, Some(PASSWORD));
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(150 + 300 * round));
        let words = format!("{} trust", office.place.path("crosstie").display());
        for process in processes(&words) {
            let _ = kill_process(Pid::from_raw(process).unwrap(), Signal::KILL);
        }
        child.wait().unwrap();
        // What it left on the nodes ends when it hears nothing more.
        std::thread::sleep(Duration::from_millis(500));
        if round % 2 == 0 {
            office.done(&approved, Some(PASSWORD));
            assert!(office.logs_in("a", "b") && office.logs_in("b", "a"));
            assert_eq!(changes(&office.done("a b", None)), Vec::<&Value>::new());
        }
        office.done(&format!("--undo {approved}"), Some(PASSWORD));
        for (now, before) in office.homes().iter().zip(&before) {
            assert_eq!(now, before, "round {round}");
        }
    }
}

/// Looking for its peers takes this node long.
const SLOW: &str = "{ cat /etc/hosts; echo 127.0.0.1 a b c nas; } > $HOME.hosts; mount --bind $HOME.hosts /etc/hosts; \
     printf '#!/bin/sh\\nexec sleep 25' > $HOME.slow; chmod 755 $HOME.slow; mount --bind $HOME.slow /usr/bin/ssh";

#[test]
fn ns_an_interrupted_run_says_how_it_goes_on_and_its_undo_leaves_no_agent() {
    let office = Office::furnished(&["a", "b"], |name| if name == "a" { SLOW } else { NAMES });
    let before = office.homes();
    let approved = format!("a b {}", office.approving());
    let mut command = office.command(&approved, Some(PASSWORD));
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let cache = office.node("a").home.join(".cache");
    let until = Instant::now() + Duration::from_secs(60);
    while processes("sleep 25").is_empty() {
        assert!(Instant::now() < until, "nobody looks for peers");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(cache.exists());
    let words = format!("{} trust", office.place.path("crosstie").display());
    for process in processes(&words) {
        let _ = kill_process(Pid::from_raw(process).unwrap(), Signal::INT);
    }
    let said = child.wait_with_output().unwrap().stderr;
    let said = String::from_utf8(said).unwrap();
    for wanted in ["interrupted", "finishes it", "--undo", "undoes it"] {
        assert!(said.contains(wanted), "{said}");
    }
    std::thread::sleep(Duration::from_millis(500));
    office.done(&format!("--undo {approved}"), Some(PASSWORD));
    for (now, before) in office.homes().iter().zip(&before) {
        assert_eq!(now, before);
    }
}

/// With a person at a terminal: the fingerprint, the password once, and again for the node that has another.
#[test]
fn ns_a_person_is_asked() {
    let office = Office::new(&["a"]);
    let before = office.homes();
    let program = office.place.path("crosstie");
    let line = format!("script -qec '{} trust a' /dev/null", program.display());
    let mut shell = office.node("desk").shell(&line);
    let mut child = shell
        .env("TERM", "dumb")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut seen = String::new();
    for (question, answer) in [
        ("[y/n]", "yes"),
        ("(asked once): ", "wrong horse"),
        ("password for a: ", PASSWORD),
    ] {
        while !seen.contains(question) {
            let mut bytes = [0; 4096];
            let length = screen.read(&mut bytes).unwrap();
            assert!(length > 0, "no {question}: {seen}");
            seen += &String::from_utf8_lossy(&bytes[..length]);
        }
        write!(keys, "{answer}\r").unwrap();
    }
    screen.read_to_string(&mut seen).unwrap();
    assert!(child.wait().unwrap().success(), "{seen}");
    assert!(seen.contains(&office.fingerprint("a")), "{seen}");
    assert!(!seen.contains("horse"), "{seen}");
    assert!(office.logs_in("desk", "a"));
    office.done("--undo", None);
    assert_eq!(office.homes(), before);
}
