//! Real sshds on 127.0.0.1, each in a mount namespace of its own, with a host name of its own: users, homes, sudo's rules and `/var/lib` are made for the
//! test, and the machine keeps its own. Needs root, and Debian's `openssh-server`, `openssh-client` and `sudo`.

use std::{
    fs,
    io::{PipeReader, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::{PermissionsExt, chown},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

/// The program under test: what cargo built beside the tests, less its symbols, since it travels to every node.
pub fn crosstie() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(stripped)
}

/// Once a build: it has the build's time. It is renamed into its place, so that a test program beside this one never meets
/// a half of it, nor a running one that is written to.
fn stripped() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_crosstie"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = scratch.join("crosstie-stripped");
    let time = |path: &Path| fs::metadata(path).and_then(|status| status.modified());
    let built_at = time(built).unwrap();
    if time(&path).is_ok_and(|stripped_at| stripped_at == built_at) {
        return path;
    }
    let partial = scratch.join(format!("crosstie-stripped.{}", std::process::id()));
    let stripped = Command::new("strip")
        .arg("-o")
        .arg(&partial)
        .arg(built)
        .status()
        .expect("cannot run strip (Debian package binutils)");
    assert!(stripped.success());
    let file = fs::File::open(&partial).unwrap();
    file.set_modified(built_at).unwrap();
    fs::rename(&partial, &path).unwrap();
    path
}

/// Something to read this line from, and then the end.
pub fn typed(line: &str) -> PipeReader {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writeln!(writer, "{line}").unwrap();
    reader
}

pub const USER: u32 = 4242;
pub const PASSWORD: &str = "correct horse";
/// The same, by crypt(5).
const HASH: &str = "$6$crosstie$5w81WCiQxh2yidBvbEQwxgfSyPxLBc8Z9TgzjuP4Uyqbp4s4IRc4FZ.skVZ4K8DJyqbda3MmsTyv9YtQBu0vg/";

/// What makes a node another one than its neighbours.
#[derive(Default)]
pub struct NodeSetup {
    /// The user's `.bashrc`.
    pub bashrc: &'static str,
    /// Shell commands that run as root in the node's namespaces of mounts and of its host name; `$HOME` is the user's.
    pub mounts: &'static str,
    /// What runs in place of any command.
    pub forced: Option<String>,
    /// sudo's rule for the user.
    pub sudo: &'static str,
    /// As sshd comes: passwords are taken, and keys from the home directory alone, if nobody else can write there.
    pub stock: bool,
}

/// An ssh configuration and the nodes that it leads to.
pub struct SshNodes {
    folder: TempDir,
    pub nodes: Vec<Node>,
}

pub struct Node {
    pub name: String,
    pub port: u16,
    pub home: PathBuf,
    sshd: Child,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.sshd), Signal::KILL);
        let _ = self.sshd.wait();
    }
}

impl SshNodes {
    pub fn new() -> Self {
        assert!(
            rustix::process::geteuid().is_root(),
            "this test starts sshd in a mount namespace: run it as root"
        );
        let folder = tempfile::tempdir().unwrap();
        // The nodes' users have to pass.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let place = Self {
            folder,
            nodes: Vec::new(),
        };
        place.make_key("id");
        fs::write(place.path("ssh_config"), "").unwrap();
        fs::write(place.path("known_hosts"), "").unwrap();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn make_key(&self, name: &str) -> String {
        let path = self.path(name);
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
            .arg(&path)
            .status();
        let made = made.expect("cannot run ssh-keygen (Debian package openssh-client)");
        assert!(made.success());
        fs::read_to_string(path.with_extension("pub")).unwrap()
    }

    /// Starts a node, and makes it known by its name.
    pub fn node(&mut self, name: &str, furnish: &NodeSetup) -> &Node {
        let key = self.make_key(&format!("host-{name}"));
        let port = free_port();
        let home = self.path(&format!("home-{name}"));
        fs::create_dir(&home).unwrap();
        fs::write(home.join(".bashrc"), furnish.bashrc).unwrap();
        chown(&home, Some(USER), Some(USER)).unwrap();
        fs::create_dir(self.path(&format!("var-{name}"))).unwrap();
        let script = self.furnish(name, port, &home, furnish);
        let log = fs::File::create(self.path(&format!("{name}.log"))).unwrap();
        let sshd = Command::new("unshare")
            .args([
                "--mount",
                "--uts",
                "--propagation",
                "private",
                "/bin/sh",
                "-euc",
                &script,
            ])
            .env("HOME", &home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn()
            .expect("cannot run unshare (Debian package util-linux)");
        self.know(port, &key);
        self.configure(name, port, "");
        self.nodes.push(Node {
            name: name.to_owned(),
            port,
            home,
            sshd,
        });
        self.wait_for(port, name);
        self.nodes.last().unwrap()
    }

    fn furnish(&self, name: &str, port: u16, home: &Path, furnish: &NodeSetup) -> String {
        let append = |file: &str, line: String, mode: u32| {
            let text = fs::read_to_string(format!("/etc/{file}")).unwrap();
            let path = self.path(&format!("{name}-{file}"));
            fs::write(&path, format!("{text}{line}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let home = home.display();
        append(
            "passwd",
            format!("alice:x:{USER}:{USER}::{home}:/bin/bash"),
            0o644,
        );
        append("shadow", format!("alice:{HASH}:19000:0:99999:7:::"), 0o600);
        append("group", format!("alice:x:{USER}:"), 0o644);
        let sudoers = self.path(&format!("{name}-sudoers"));
        fs::write(&sudoers, format!("root ALL=(ALL) ALL\n{}\n", furnish.sudo)).unwrap();
        fs::set_permissions(&sudoers, fs::Permissions::from_mode(0o440)).unwrap();
        let forced = furnish.forced.as_ref();
        let forced = forced.map(|script| {
            let path = self.path(&format!("{name}-forced"));
            fs::write(&path, script).unwrap();
            format!("ForceCommand /bin/sh {}\n", path.display())
        });
        let here = self.folder.path().display();
        let logins = if furnish.stock {
            "PasswordAuthentication yes\n".to_owned()
        } else {
            format!("PasswordAuthentication no\nStrictModes no\nAuthorizedKeysFile {here}/id.pub\n")
        };
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {here}/host-{name}\nPidFile none\nUsePAM no\n\
             MaxStartups 100\n{logins}{}",
            forced.unwrap_or_default()
        );
        let config_path = self.path(&format!("{name}-sshd"));
        fs::write(&config_path, config).unwrap();
        format!(
            "mount -t tmpfs tmpfs /run; mkdir /run/sshd; mount --bind {here}/var-{name} /var/lib\n\
             for file in passwd shadow group sudoers; do mount --bind {here}/{name}-$file /etc/$file; done\n\
             {}\nexec /usr/sbin/sshd -D -e -f {}",
            furnish.mounts,
            config_path.display()
        )
    }

    /// A name in the ssh configuration.
    pub fn configure(&self, name: &str, port: u16, more: &str) {
        let here = self.folder.path().display();
        let host = format!(
            "Host {name}\nHostName 127.0.0.1\nPort {port}\nUser alice\nIdentityFile {here}/id\nIdentitiesOnly yes\n\
             UserKnownHostsFile {here}/known_hosts\nGlobalKnownHostsFile none\n\
             KexAlgorithms curve25519-sha256\nCiphers ^aes128-gcm@openssh.com\n{more}\n"
        );
        let mut text = fs::read_to_string(self.path("ssh_config")).unwrap();
        text += &host;
        fs::write(self.path("ssh_config"), text).unwrap();
    }

    fn know(&self, port: u16, key: &str) {
        let mut text = fs::read_to_string(self.path("known_hosts")).unwrap();
        text.push_str(&["[127.0.0.1]:", &port.to_string(), " ", key].concat());
        fs::write(self.path("known_hosts"), text).unwrap();
    }

    fn wait_for(&self, port: u16, name: &str) {
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(self.path(&format!("{name}.log")));
            assert!(
                Instant::now() < until,
                "no sshd (Debian package openssh-server): {log:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// `crosstie scan` with this place's ssh configuration.
    pub fn scan(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crosstie());
        command
            .arg("scan")
            .args(arguments)
            .arg("--ssh-config")
            .arg(self.path("ssh_config"))
            .env("HOME", self.folder.path())
            .env_remove("SSH_AUTH_SOCK")
            .stdin(Stdio::null());
        command
    }

    /// A command line that the node's user runs there.
    pub fn ssh(&self, name: &str, line: &str) -> Output {
        let mut command = Command::new("ssh");
        command
            .arg("-F")
            .arg(self.path("ssh_config"))
            .args(["-n", "--", name, line]);
        command.output().unwrap()
    }

    /// What `scan --json` says of each node, and how it ended.
    pub fn json(&self, arguments: &[&str]) -> (Vec<Value>, Output) {
        let output = self.scan(arguments).arg("--json").output().unwrap();
        let nodes = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (nodes, output)
    }

    /// The one error of a scan of one node.
    pub fn error(&self, name: &str) -> String {
        let (nodes, output) = self.json(&[name, "--timeout", "20"]);
        assert_eq!(output.status.code(), Some(2), "{nodes:#?}");
        assert_eq!(nodes[0]["host"], name);
        nodes[0]["error"].as_str().expect("an error").to_owned()
    }
}

impl Node {
    /// A command line that the user runs there, not by ssh.
    pub fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--mount", "--target", &self.sshd.id().to_string()])
            .args(["--setuid", &USER.to_string(), "--setgid", &USER.to_string()])
            .args(["--", "/bin/bash", "-c"])
            .arg(format!("cd && {line}"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.home)
            .env("USER", "alice")
            .stdin(Stdio::null());
        command
    }

    pub fn cache(&self) -> PathBuf {
        self.home.join(".cache/crosstie/bin")
    }
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

pub fn parent(process: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// Processes whose command line holds `words`, but ourselves.
pub fn processes(words: &str) -> Vec<i32> {
    let listed = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        (line.contains(words) && pid.unsigned_abs() != std::process::id()).then_some(pid)
    });
    listed.collect()
}

/// Waits until `done`, for as long as a promise may take.
pub fn eventually(what: &str, done: impl Fn() -> bool) {
    within(Duration::from_secs(10), what, done);
}

/// Waits until what a test needs is there, however busy the machine is.
pub fn prepared(what: &str, done: impl Fn() -> bool) {
    within(Duration::from_secs(120), what, done);
}

fn within(limit: Duration, what: &str, done: impl Fn() -> bool) {
    let until = Instant::now() + limit;
    while !done() {
        assert!(Instant::now() < until, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
