//! Where what lies behind links is recorded.

use super::*;
use crate::facts;

fn file(text: &str) -> CaptureEntry {
    CaptureEntry::File(text.as_bytes().to_vec())
}

fn link(target: &str) -> CaptureEntry {
    CaptureEntry::Link(target.to_owned())
}

fn tree(entries: &[(&str, CaptureEntry)]) -> RawCapture {
    let mut raw = RawCapture::default();
    for (path, entry) in entries {
        raw.insert(path, entry.clone());
    }
    raw
}

const NETPLAN: &str = "network: {ethernets: {enp1s0f0np0: {mtu: 9000}}}";

/// A file, a folder, a way of several links, and what programs may leave to people: `/usr/local`, `/run/user`.
#[test]
fn what_a_link_of_a_person_leads_to_is_at_the_place_of_the_link() {
    let raw = tree(&[
        ("home", link("/srv/home")),
        ("srv/home/alice/zeus/nccl.conf", file("NCCL_DEBUG=INFO\n")),
        ("etc/nccl.conf", link("/home/alice/zeus/nccl.conf")),
        ("etc/netplan", link("../srv/acme/netplan")),
        ("srv/acme/netplan/60-a.yaml", file(NETPLAN)),
        ("etc/environment", link("alternatives/acme")),
        ("etc/alternatives/acme", link("/run/user/1000/acme")),
        ("run/user/1000/acme", file("NCCL_IB_HCA==mlx5_0\n")),
        ("etc/sysctl.d/60-acme.conf", link("/usr/local/acme/x.conf")),
        ("usr/local/acme/x.conf", file("net.core.rmem_max = 7\n")),
        ("etc/sysctl.conf", link("/home/alice/gone.conf")),
        ("etc/systemd/network/99-default.link", link("/dev/null")),
    ]);
    let kept = collect_all(&raw);
    let paths: Vec<&str> = kept.tree().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        [
            "etc/environment",
            "etc/nccl.conf",
            "etc/netplan/60-a.yaml",
            "etc/sysctl.conf",
            "etc/sysctl.d/60-acme.conf",
            "etc/systemd/network/99-default.link",
        ]
    );
    let text = format!("{kept:?}");
    let gone = ["alice", "zeus", "srv", "1000", "usr", "alternatives"];
    assert!(gone.iter().all(|name| !text.contains(name)), "{text}");
    assert_eq!(kept.entry("etc/sysctl.conf"), Some(&link(ELSEWHERE)));
    let hidden = kept.entry("etc/systemd/network/99-default.link");
    assert_eq!(hidden, Some(&link("/dev/null")));
    assert_eq!(facts(&kept), facts(&raw));
    assert_eq!(collect_all(&kept), kept);
}

#[test]
fn a_link_to_a_library_tells_its_version_alone() {
    let raw = tree(&[
        ("usr/lib/libnccl.so.2", link("libnccl.so.2.28.9")),
        (
            "usr/local/lib/libnccl.so.2",
            link("/home/alice/nccl/libnccl.so.2.19.3"),
        ),
        (
            "usr/local/lib/libibverbs.so.1",
            link("/home/alice/libalice.so.1.2"),
        ),
        ("usr/local/cuda", link("/etc/alternatives/cuda")),
        ("etc/alternatives/cuda", link("/usr/local/cuda-12.8")),
        (
            "usr/local/cuda-12.8/lib64/libnccl.so.2",
            link("libnccl.so.2.27.3"),
        ),
        ("usr/local/cuda-13", link("/home/alice/cuda")),
        (
            "home/alice/cuda/lib64/libnccl.so.2",
            link("libnccl.so.2.28.3"),
        ),
    ]);
    let kept = collect_all(&raw);
    let links: Vec<(&str, &CaptureEntry)> = kept.tree().collect();
    assert_eq!(
        links,
        [
            ("usr/lib/libnccl.so.2", &link("libnccl.so.2.28.9")),
            ("usr/local/cuda", &link("/usr/local/cuda-12.8")),
            (
                "usr/local/cuda-12.8/lib64/libnccl.so.2",
                &link("libnccl.so.2.27.3")
            ),
            (
                "usr/local/cuda-13/lib64/libnccl.so.2",
                &link("libnccl.so.2.28.3")
            ),
            ("usr/local/lib/libibverbs.so.1", &link("/withheld")),
            (
                "usr/local/lib/libnccl.so.2",
                &link("/withheld/libnccl.so.2.19.3")
            ),
        ]
    );
    assert_eq!(collect_all(&kept), kept);
}

/// Only a capture by other hands has such a link.
#[test]
fn links_of_the_kernel_stay_in_its_trees() {
    let raw = tree(&[
        ("sys/class/net/eth0", link("../../../home/alice/eth0")),
        ("home/alice/eth0/speed", file("1\n")),
        ("sys/class/net/eth1", link("../../devices/virtual/net/eth1")),
        ("sys/devices/virtual/net/eth1/speed", file("1\n")),
        ("sys/devices/virtual/net/eth1/device", link("/home/alice")),
    ]);
    let kept = collect_all(&raw);
    let paths: Vec<&str> = kept.tree().map(|(path, _)| path).collect();
    let expected = ["sys/class/net/eth1", "sys/devices/virtual/net/eth1/speed"];
    assert_eq!(paths, expected);
}
