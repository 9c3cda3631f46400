//! Network namespaces as nodes. Needs root, and Debian's `iproute2`.

use std::{
    fs::File,
    os::fd::AsFd,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// It goes away with the value, also when a test panics.
pub struct Namespace(pub String);

impl Namespace {
    pub fn new(purpose: &str) -> Self {
        assert!(
            rustix::process::geteuid().is_root(),
            "this test makes a network namespace: run it as root"
        );
        let namespace = Self(format!("crosstie-{purpose}-{}", std::process::id()));
        ip(&format!("netns add {}", namespace.0));
        namespace
    }

    /// Runs `ip` inside.
    pub fn ip(&self, arguments: &str) -> String {
        ip(&format!("-n {} {arguments}", self.0))
    }

    /// What a program says that runs inside.
    pub fn exec(&self, command: &[&str]) -> String {
        run(&[&["netns", "exec", &self.0], command].concat())
    }

    /// Runs `work` in a thread that has moved inside; threads that it starts are inside too.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/run/netns/{}", self.0)).unwrap();
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(namespace.as_fd(), kind).unwrap();
                work()
            });
            inside.join().unwrap()
        })
    }

    /// Until the interface has carrier and none of its addresses is still on trial: before that, IPv6 gets lost.
    pub fn wait_for_link(&self, interface: &str) {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let link = self.ip(&format!("-o link show dev {interface}"));
            let on_trial = self.ip(&format!("-6 -o addr show dev {interface} tentative"));
            let own = self.ip(&format!("-6 -o addr show dev {interface} scope link"));
            if link.contains("state UP") && on_trial.is_empty() && !own.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "{link}{on_trial}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// Two, joined by `rail0` with 10.77.0.1 and 10.77.0.2.
pub fn cabled_pair(name: &str) -> [Namespace; 2] {
    let nodes = ["a", "b"].map(|end| Namespace::new(&format!("{name}-{end}")));
    let [a, b] = [&nodes[0].0, &nodes[1].0];
    ip(&format!(
        "link add rail0 netns {a} mtu 9000 type veth peer name rail0 netns {b} mtu 9000"
    ));
    for (node, host) in nodes.iter().zip(1..) {
        node.ip(&format!("addr add 10.77.0.{host}/24 dev rail0"));
        node.ip("link set lo up");
        node.ip("link set rail0 up");
    }
    for node in &nodes {
        node.wait_for_link("rail0");
    }
    nodes
}

pub fn ip(arguments: &str) -> String {
    run(&arguments.split_whitespace().collect::<Vec<_>>())
}

fn run(arguments: &[&str]) -> String {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .expect("cannot run ip (Debian package iproute2)");
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
