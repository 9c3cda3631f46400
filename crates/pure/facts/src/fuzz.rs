//! Every parser that takes text from outside, by name: what `fuzz/` runs and the corpus test replays.

use crosstie_model::ClusterSpec;

use crate::{CaptureEntry, RawCapture, collect, facts};

/// A parser with its result thrown away: all that is asked of it is to return.
pub type FactsFuzzTarget = (&'static str, fn(&[u8]));

/// A target for each output and file: the bytes in its place, cut down by the allow-list, parsed.
macro_rules! targets {
    (commands: $($command:ident = $output:literal),+; files: $($file:ident = $path:literal),+ $(,)?) => {
        $(fn $command(data: &[u8]) { command($output, data) })+
        $(fn $file(data: &[u8]) { file($path, data) })+

        /// Each has a folder of the same name in `fuzz/corpus/` and a `[[bin]]` in `fuzz/Cargo.toml`.
        pub const TARGETS: &[FactsFuzzTarget] = &[
            ("spec", spec),
            ("tree", tree),
            $((stringify!($command), $command),)+
            $((stringify!($file), $file),)+
        ];
    };
}

targets!(
    commands:
        ip_addr = "ip-addr.json",
        ip_route = "ip-route.json",
        ip_rule = "ip-rule.json",
        ip_neigh = "ip-neigh.json",
        rdma_resource = "rdma-resource.json",
        nft = "nft.json",
        dmesg = "dmesg.txt",
        nvidia_smi = "nvidia-smi.xml",
        timedatectl = "timedatectl.txt",
        environment = "environment.txt",
        ethtool = "ethtool-eth0.txt",
        ethtool_fec = "ethtool-fec-eth0.txt",
        ethtool_pause = "ethtool-pause-eth0.txt",
        ethtool_statistics = "ethtool-S-eth0.txt",
        dcb = "dcb-eth0.json";
    files:
        netplan = "etc/netplan/50-x.yaml",
        keyfile = "etc/NetworkManager/system-connections/x.nmconnection",
        networkd = "etc/systemd/network/50-x.network",
        ifupdown = "etc/network/interfaces",
        dpkg_status = "var/lib/dpkg/status",
        modules = "proc/modules",
        meminfo = "proc/meminfo",
        command_line = "proc/cmdline",
        login_limits = "etc/security/limits.d/x.conf",
        nccl_conf = "etc/nccl.conf",
);

fn spec(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = ClusterSpec::from_toml(text);
    }
}

fn command(name: &str, data: &[u8]) {
    let mut raw = with_interface();
    let output = CaptureEntry::File(data.to_vec());
    raw.insert_command(name, output.clone());
    let _ = facts(&raw);
    if let Some(once) = collect::command(name, &output) {
        let twice = collect::command(name, &once);
        assert_eq!(twice, Some(once), "cut down once and twice");
    }
}

fn file(path: &str, data: &[u8]) {
    let mut raw = with_interface();
    raw.insert(path, CaptureEntry::File(data.to_vec()));
    parse_and_reduce(&raw);
}

/// Lines of `PATH TEXT`, or `PATH>TARGET` for links: a tree of any shape, over the places that parsers look at.
fn tree(data: &[u8]) {
    let mut raw = RawCapture::default();
    for line in String::from_utf8_lossy(data).lines().take(500) {
        if let Some((path, target)) = line.split_once('>') {
            raw.insert(path, CaptureEntry::Link(target.to_owned()));
        } else if let Some((path, text)) = line.split_once(' ') {
            raw.insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
        }
    }
    parse_and_reduce(&raw);
}

fn parse_and_reduce(raw: &RawCapture) {
    let _ = facts(raw);
    let once = collect::collect_all(raw);
    assert_eq!(collect::collect_all(&once), once, "cut down once and twice");
    let _ = facts(&once);
}

/// The parsers of a port's files are asked about the interfaces that exist.
fn with_interface() -> RawCapture {
    let mut raw = RawCapture::default();
    raw.insert(
        "sys/class/net/eth0/mtu",
        CaptureEntry::File(b"9000\n".to_vec()),
    );
    raw
}
