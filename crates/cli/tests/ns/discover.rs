//! `crosstie scan --discover` with real neighbours: network namespaces joined by a management link and a fabric cable, each
//! with Avahi and sshd of its own. Needs root, and Debian's `iproute2`, `avahi-daemon` and `openssh-server`.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, UdpSocket},
    os::unix::process::CommandExt,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{namespace::Namespace, sshd::crosstie};

const SERVICE: &str = r#"<?xml version="1.0" standalone='no'?>
<!DOCTYPE service-group SYSTEM "avahi-service.dtd">
<service-group><name replace-wildcards="yes">Login on %h</name>
<service><type>_ssh._tcp</type><port>22</port></service></service-group>
"#;

/// Two machines: `management` between them has addresses, `fabric0` has none but those that links have.
struct Pair {
    folder: TempDir,
    ends: [Namespace; 2],
    running: Vec<Child>,
}

impl Drop for Pair {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = child.wait();
        }
    }
}

impl Pair {
    fn new(tag: &str) -> Self {
        let ends = ["a", "b"].map(|end| Namespace::new(&format!("{tag}-{end}")));
        let [a, b] = &ends;
        for link in ["management", "fabric0"] {
            a.ip(&format!(
                "link add {link} type veth peer name {link} netns {}",
                b.0
            ));
        }
        a.ip("addr add 192.0.2.1/24 dev management");
        b.ip("addr add 192.0.2.2/24 dev management");
        // As a Spark's: the maker is known by it.
        b.ip("link set fabric0 address 4c:bb:47:00:00:02");
        for end in &ends {
            for link in ["lo", "management", "fabric0"] {
                end.ip(&format!("link set {link} up"));
            }
        }
        Self {
            folder: tempfile::tempdir().unwrap(),
            ends,
            running: Vec::new(),
        }
    }

    /// Avahi and sshd, in the network namespace and a mount namespace of their own.
    fn populate(&mut self, end: usize, host: &str) {
        let here = self.folder.path().display();
        let services = self.folder.path().join("services");
        fs::create_dir_all(&services).unwrap();
        fs::write(services.join("ssh.service"), SERVICE).unwrap();
        let config = format!(
            "[server]\nhost-name={host}\nenable-dbus=no\n[publish]\npublish-workstation=no\n"
        );
        fs::write(self.folder.path().join(host), config).unwrap();
        let key = self.folder.path().join(format!("{host}-key"));
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&key)
            .status();
        assert!(
            made.expect("cannot run ssh-keygen (Debian package openssh-client)")
                .success()
        );
        let script = format!(
            "mount -t tmpfs tmpfs /run; mkdir /run/avahi-daemon /run/sshd; mount --bind {here}/services /etc/avahi/services\n\
             /usr/sbin/sshd -D -e -f /dev/null -h {} -o UsePAM=no -o PidFile=none &\n\
             exec avahi-daemon -f {here}/{host} --no-drop-root --no-chroot --no-rlimits",
            key.display()
        );
        let log = File::create(self.log(host)).unwrap();
        let child = Command::new("ip")
            .args(["netns", "exec", &self.ends[end].0])
            .args(["unshare", "--mount", "--propagation", "private"])
            .args(["/bin/sh", "-euc", &script])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap();
        self.running.push(child);
        let until = Instant::now() + Duration::from_secs(20);
        // Addresses are announced once they are known to be nobody else's.
        let ready = [
            "successfully established",
            "New relevant interface fabric0.IPv6",
            "Server listening",
        ];
        loop {
            let log = fs::read_to_string(self.log(host)).unwrap();
            if ready.iter().all(|words| log.contains(words)) {
                return;
            }
            assert!(
                Instant::now() < until,
                "no Avahi or sshd (Debian packages avahi-daemon, openssh-server): {log}"
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn log(&self, host: &str) -> std::path::PathBuf {
        self.folder.path().join(format!("{host}.log"))
    }

    /// `words` run on the first machine.
    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.ends[0].0]).args(words);
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn discover(&self, more: &[&str]) -> Output {
        let program = crosstie().to_str().unwrap();
        self.run(&[&[program, "scan", "--discover"], more].concat())
    }

    fn json(&self, more: &[&str]) -> Vec<Value> {
        let output = self.discover(&[&["--json"], more].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn texts(value: &Value) -> Vec<&str> {
    let items = value.as_array().unwrap();
    items.iter().map(|item| item.as_str().unwrap()).collect()
}

const FABRIC: &str = "fe80::4ebb:47ff:fe00:2%fabric0";

#[test]
fn ns_a_neighbour_is_found_and_we_are_not() {
    let mut pair = Pair::new("found");
    pair.populate(0, "spark-a");
    pair.populate(1, "spark-b");
    let found = pair.json(&[]);
    assert_eq!(found.len(), 1, "{found:#?}");
    let b = &found[0];
    assert_eq!(b["host"], "spark-b.local");
    assert_eq!(texts(&b["interfaces"]), ["fabric0", "management"]);
    let addresses = texts(&b["addresses"]);
    assert_eq!(addresses[0], "192.0.2.2");
    assert!(addresses.contains(&FABRIC), "{addresses:?}");
    assert_eq!(b["mac"], "4c:bb:47:00:00:02");
    assert_eq!(b["vendor"], "NVIDIA");
    assert!(
        b["ssh"].as_str().unwrap().starts_with("SSH-2.0-OpenSSH"),
        "{b:#}"
    );
    // There is no RDMA port here.
    assert_eq!(texts(&b["via"]), ["mdns"]);
    // Nothing resolves .local on this machine, so the address is what can be used.
    let shown = String::from_utf8(pair.discover(&[]).stdout).unwrap();
    assert!(shown.contains("crosstie scan 192.0.2.2\n"), "{shown}");
    assert!(shown.contains("(NVIDIA)"), "{shown}");

    let found = pair.json(&["--interface", "fabric0"]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(texts(&found[0]["addresses"]), [FABRIC]);
    assert_eq!(texts(&found[0]["via"]), ["mdns", "all-nodes"]);
    assert_eq!(found[0]["destination"], FABRIC);
}

#[test]
fn ns_a_neighbour_without_a_name_is_greeted() {
    let pair = Pair::new("greeted");
    for end in &pair.ends {
        end.wait_for_link("fabric0");
    }
    let found = pair.json(&["--interface", "fabric0"]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["host"], FABRIC);
    assert_eq!(texts(&found[0]["via"]), ["all-nodes"]);
    assert!(found[0]["ssh"].is_null() && found[0]["destination"].is_null());

    let program = crosstie().to_str().unwrap();
    let nobody = [
        "setpriv",
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
    ];
    let command = [program, "scan", "--discover", "--interface", "fabric0"];
    let unprivileged = [&nobody[..], &command].concat();
    let output = String::from_utf8(pair.run(&unprivileged).stdout).unwrap();
    assert!(output.contains("nobody answered"), "{output}");
    assert!(output.contains("asked on fabric0"), "{output}");
    assert!(output.contains("ping_group_range"), "{output}");
    pair.run(&[
        "sh",
        "-c",
        "echo 0 65534 > /proc/sys/net/ipv4/ping_group_range",
    ]);
    let output = String::from_utf8(pair.run(&unprivileged).stdout).unwrap();
    assert!(output.contains(FABRIC), "{output}");
    assert!(output.contains("ssh does not answer"), "{output}");

    let wrong = pair.discover(&["--interface", "fabric7"]);
    assert_eq!(wrong.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(complaint.contains("fabric7 is no interface"), "{complaint}");
    assert!(complaint.contains("fabric0"), "{complaint}");
}

fn label(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

/// An answer to `_ssh._tcp`: one instance, whose host has these addresses.
fn answer(host: &str, addresses: &[Ipv4Addr]) -> Vec<u8> {
    let service = [label("_ssh"), label("_tcp"), label("local"), vec![0]].concat();
    let instance = [label("x"), vec![0xc0, 12]].concat();
    let host = [label(host), label("local"), vec![0]].concat();
    let record = |name: &[u8], kind: u8, data: &[u8]| {
        let length = u8::try_from(data.len()).unwrap();
        [name, &[0, kind, 0, 1, 0, 0, 0, 9, 0, length], data].concat()
    };
    let count = u8::try_from(2 + addresses.len()).unwrap();
    let mut message = vec![0, 0, 0x84, 0, 0, 0, 0, count, 0, 0, 0, 0];
    message.extend(record(&service, 12, &instance));
    message.extend(record(
        &instance,
        33,
        &[&[0, 0, 0, 0, 0, 22], &host[..]].concat(),
    ));
    for address in addresses {
        message.extend(record(&host, 1, &address.octets()));
    }
    message
}

/// Whoever asks the second machine gets these.
fn answer_there(pair: &Pair, messages: Vec<Vec<u8>>) {
    let bind = || UdpSocket::bind("0.0.0.0:5353").unwrap();
    let socket = pair.ends[1].enter(bind);
    let group = Ipv4Addr::new(224, 0, 0, 251);
    socket
        .join_multicast_v4(&group, &Ipv4Addr::new(192, 0, 2, 2))
        .unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 9000];
        while let Ok((_, asker)) = socket.recv_from(&mut buffer) {
            for message in &messages {
                let _ = socket.send_to(message, asker);
            }
        }
    });
}

#[test]
fn ns_a_hostile_neighbour_gets_nowhere() {
    let pair = Pair::new("hostile");
    let there = Ipv4Addr::new(192, 0, 2, 2);
    let mut messages = vec![
        answer("-oProxyCommand=reboot", &[there]),
        answer("spark\u{1b}[2J", &[there]),
        answer(
            "nowhere",
            &[Ipv4Addr::LOCALHOST, Ipv4Addr::new(203, 0, 113, 5)],
        ),
        vec![0xff; 2000],
        [&answer("x", &[])[..20], &[0xc0, 20].repeat(500)[..]].concat(),
    ];
    for number in 0..200u8 {
        messages.push(answer(
            &format!("many{number}"),
            &[Ipv4Addr::new(192, 0, 2, 7)],
        ));
    }
    answer_there(&pair, messages);
    let started = Instant::now();
    let output = pair.discover(&[]);
    assert!(output.status.success(), "{output:?}");
    assert!(started.elapsed() < Duration::from_secs(20));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        !text.contains('\u{1b}') && !text.contains("ProxyCommand"),
        "{text}"
    );
    assert!(
        !text.contains("127.0.0.1") && !text.contains("203.0.113.5"),
        "{text}"
    );
    assert!(text.contains("192.0.2.2"), "{text}");
    let found = pair.json(&[]);
    assert!(found.len() < 10, "{found:#?}");
}
