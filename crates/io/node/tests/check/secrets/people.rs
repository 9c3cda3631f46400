//! What people call things stays on the node wherever it stands, and facts do not depend on it.

use crosstie_facts::{CaptureEntry, CaptureMeta, RawCapture, collect::collect_all, facts};
use crosstie_model::Facts;
use crosstie_node::cut_to_allow_list;

use super::{assert_none_in, plant::PLAIN, rules, seeds};

fn file(text: &str) -> CaptureEntry {
    CaptureEntry::File(text.as_bytes().to_vec())
}

fn link(target: &str) -> CaptureEntry {
    CaptureEntry::Link(target.to_owned())
}

/// Every listed file outside the kernel's trees, behind each of these: a link to a home, a folder that is a link, a way of two links, and
/// a link to what programs leave to people.
#[test]
fn no_link_tells_where_it_leads() {
    let homes = [
        "home/canaryplain/zeus",
        "usr/local/canaryplain",
        "run/user/7/canaryplain",
    ];
    let paths: Vec<String> = rules().flat_map(super::paths).collect();
    let of_people = |path: &&String| !path.starts_with("sys/") && !path.starts_with("proc/");
    let paths: Vec<&String> = paths.iter().filter(of_people).collect();
    for seed in seeds::files() {
        for home in homes {
            let mut straight = RawCapture::default();
            let mut around = RawCapture::default();
            around.insert("srv", link("/mnt/canaryplain"));
            for (index, path) in paths.iter().enumerate() {
                let place = format!("{home}/{index}");
                straight.insert(path, link(&format!("/{place}")));
                straight.insert(&place, file(&seed));
                around.insert(path, link(&format!("/srv/{index}")));
                let way = format!("mnt/canaryplain/{index}");
                around.insert(&way, link(&format!("../../{place}")));
                around.insert(&place, file(&seed));
            }
            for raw in [straight, around] {
                assert_none_in(&raw, &seed);
                let once = cut_to_allow_list(&raw);
                assert_eq!(cut_to_allow_list(&once), once, "{seed}");
            }
        }
    }
    for path in paths {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut raw = RawCapture::default();
        raw.insert(
            &format!("home/canaryplain/{name}"),
            file("NCCL_DEBUG=INFO\n"),
        );
        raw.insert(folder, link("/home/canaryplain"));
        assert_none_in(&raw, path);
    }
}

/// Without what a capture has other names for.
fn unnamed(mut facts: Facts) -> Facts {
    let rendered = facts.persistence.rendered.known().cloned();
    let mut rendered = rendered.unwrap_or_default();
    let profiles = facts.persistence.profiles.iter_mut().chain(&mut rendered);
    for profile in profiles {
        profile.file.clear();
    }
    facts.persistence.rendered = crosstie_model::Reading::Value(rendered);
    for file in &mut facts.persistence.netplan {
        file.file.clear();
    }
    facts
}

const UUID: &str = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";

/// A node whose interfaces people named, with what netplan made for them.
fn rendered_by_netplan() -> RawCapture {
    let names = ["lo", "vlan77", "br-lan", "fabric0", "enp1s0f0np0"];
    let mut raw = RawCapture::default();
    let mut netplan = String::from("network:\n  ethernets:\n");
    let mut addresses: Vec<serde_json::Value> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let address = format!("10.0.{index}.1/24");
        netplan += &["    ", name, ": {addresses: [", &address, "]}\n"].concat();
        raw.insert(
            &format!("run/systemd/network/10-netplan-{name}.network"),
            file(&format!(
                "[Match]\nName={name}\n[Network]\nAddress={address}\n"
            )),
        );
        addresses.push(serde_json::json!({ "ifindex": index + 1, "ifname": name }));
    }
    raw.insert("etc/netplan/60-canaryplain.yaml", file(&netplan));
    let keyfile = "[connection]\ntype=ethernet\ninterface-name=fabric0\n[ipv4]\nmethod=auto\n";
    for name in ["netplan-canaryplain", &format!("netplan-NM-{UUID}")] {
        let path = format!("run/NetworkManager/system-connections/{name}.nmconnection");
        raw.insert(&path, file(keyfile));
    }
    // Files of people's that sort before ours and behind netplan's.
    for name in ["05-alice", "10-zeus", "acme"] {
        let path = format!("etc/systemd/network/{name}.network");
        raw.insert(&path, file("[Match]\nName=fabric0\n[Network]\nDHCP=no\n"));
    }
    let addresses = serde_json::Value::from(addresses).to_string();
    raw.insert_command("ip-addr.json", file(&addresses));
    raw
}

#[test]
fn files_that_netplan_made_are_told_from_others_in_a_capture_too() {
    let raw = rendered_by_netplan();
    let kept = cut_to_allow_list(&raw);
    let mut live = collect_all(&raw);
    for (name, entry) in raw.commands() {
        live.insert_command(name, entry.clone());
    }
    let (live, captured) = (facts(&live), facts(&kept));
    assert_eq!(live.persistence.rendered.known().unwrap().len(), 7);
    assert_eq!(unnamed(captured.clone()), unnamed(live.clone()));
    assert_none_in(&raw, "");
    let paths: Vec<&str> = kept.tree().map(|(path, _)| path).collect();
    let own = format!("run/NetworkManager/system-connections/netplan-NM-{UUID}.nmconnection");
    for path in [own.as_str(), "run/systemd/network/10-netplan-lo.network"] {
        assert!(paths.contains(&path), "{paths:?}");
    }
    // Whether a file is read before ours and before netplan's stays, too.
    let order = |facts: &Facts| {
        let files = facts.persistence.profiles.iter().map(|profile| {
            let name = profile.file.rsplit('/').next().unwrap_or_default();
            ["05-crosstie-", "10-netplan-"].map(|ours| name < ours)
        });
        files.collect::<Vec<_>>()
    };
    assert_eq!(order(&captured), order(&live));
    assert_eq!(cut_to_allow_list(&kept), kept);
}

#[test]
fn definitions_that_are_no_interface_are_called_by_numbers() {
    let mut raw = RawCapture::default();
    raw.insert(
        "etc/netplan/60-a.yaml",
        file(
            "network:\n  wifis: {canaryplain: {access-points: {x: {}}}}\n  bridges: {br0: {interfaces: [canaryplain]}}\n  \
             ethernets: {canaryplain-x: {match: {macaddress: '4e:10:20:30:0b:11'}}}\n",
        ),
    );
    raw.insert(
        "etc/NetworkManager/system-connections/a.nmconnection",
        file("[connection]\ntype=ethernet\ninterface-name=canaryplain0\nmaster=canaryplain\n"),
    );
    raw.insert(
        "run/systemd/network/10-netplan-canaryplain.netdev",
        file("[NetDev]\nName=canaryplain\nKind=bridge\n"),
    );
    assert_none_in(&raw, "");
}

/// NVIDIA's driver, Linux without auditd, and kernels that people built.
#[test]
fn the_kernel_log_names_no_program_and_nobody() {
    let log = "[    1.000000] NVRM: API mismatch: the client 'canaryplain' (pid 1005)\n\
        [    2.000000] audit: type=1123 audit(1.2:3): pid=7 msg='cwd=\"/home/alice/canaryplain-mlx5\" cmd=6C73'\n\
        [    3.000000] audit: type=1400 audit(1.2:3): apparmor=\"DENIED\" profile=\"canaryplain\" name=\"/dev/infiniband/uverbs0\"\n\
        [    4.000000] canaryplain[812]: segfault at 0 ip 7f in libmlx5.so.1.24[7f+5]\n\
        [    5.000000] Linux version 6.8.0 (canaryplain@buildbox) (gcc-13) #1 SMP\n";
    let mut raw = RawCapture::default();
    raw.insert_command("dmesg.txt", file(log));
    let version = "NVRM version: NVIDIA UNIX  580.142  Release Build  (canaryplain@x)  Fri\n";
    raw.insert("proc/driver/nvidia/version", file(version));
    assert_none_in(&raw, log);
}

#[test]
fn values_of_variables_name_nobody() {
    for text in [
        "NCCL_DEBUG_FILE=canaryplain.%h.log\n",
        "NCCL_TUNER_CONFIG=canaryplain/tuner.csv\n",
        "NCCL_SSHKEY=canaryplain\n",
        "NCCL_X=q7Zr/8Kx+2LmN9/aB3cD4eF5gH6iJ7canaryplain\n",
    ] {
        let mut raw = RawCapture::default();
        raw.insert("etc/nccl.conf", file(text));
        raw.insert_command("environment.txt", file(text));
        assert_none_in(&raw, text);
    }
}

#[test]
fn why_root_was_refused_names_nobody() {
    let raw = RawCapture::new(CaptureMeta {
        root_refused: Some(format!(
            "sudo refused: Sorry, user {PLAIN} is not allowed to execute '/home/{PLAIN}/x' as root on acme."
        )),
        ..CaptureMeta::default()
    });
    assert_none_in(&raw, "");
}

#[test]
fn packages_that_only_begin_like_infiniband_stay_on_the_node() {
    let mut raw = RawCapture::default();
    let stanza = |name: &str| format!("Package: {name}\nStatus: install ok installed\n\n");
    let names = [
        "ibus-canaryplain",
        "libibverbs1",
        "libibumad3",
        "ibverbs-providers",
    ];
    let status: String = names.iter().map(|name| stanza(name)).collect();
    raw.insert("var/lib/dpkg/status", file(&status));
    assert_none_in(&raw, "");
    let kept = cut_to_allow_list(&raw);
    let kept = kept.text("var/lib/dpkg/status").into_known().unwrap();
    assert_eq!(kept.matches("Package: ").count(), 3, "{kept}");
}

/// What is missing of a log is told where it is read and where it is cut down.
#[test]
fn a_log_that_was_cut_short_is_named_as_unread() {
    let unread = |lines: usize| {
        let log = "[    1.000000] mlx5_core x\n".repeat(lines);
        let mut raw = RawCapture::default();
        raw.insert_command("dmesg.txt", file(&log));
        let kept = cut_to_allow_list(&raw);
        assert_eq!(cut_to_allow_list(&kept), kept);
        facts(&kept).unread
    };
    assert!(unread(4_000).is_empty());
    let gaps = unread(4_001);
    assert_eq!(gaps[0].what, "kernel log", "{gaps:?}");
}
