//! Output that is lines: those that are listed stay.

use memchr::{memchr_iter, memmem};

use crate::collect::{
    filter::{assignment, is_plain, leading, without_people},
    secret::is_secret,
};

const MAX_LINE: usize = 500;
/// A card that floods the log with errors leaves its start and its end.
const FIRST_LINES: usize = 1000;
const LAST_LINES: usize = 3000;

/// The command line can name `iommu=pt` beside a password for the network boot, and the packet filter logs packets behind a
/// prefix that people choose. NVIDIA's driver names boards and GPUs by numbers that are theirs alone. Where no daemon takes audit
/// records, the kernel prints them itself, those of programs too. A crash and a stuck task are called by the program's name, which may be
/// of one that uses the card.
const LOG_SECRETS: [&str; 15] = [
    "command line",
    " in=",
    " out=",
    "serial number",
    "gpu-",
    "uuid",
    "audit",
    "apparmor=",
    "comm:",
    "comm=",
    "segfault at",
    "traps:",
    "info: task ",
    "killed process",
    "modules linked in",
];

/// Where a line begins to tell of a program: `NVRM: Xid (PCI:0000:01:00): 31, pid=812, name=train.py, …`.
const LOG_PROCESSES: [&str; 2] = [", pid=", ", name="];
/// The same, of a line that has a process id anywhere: `NVRM: API mismatch: the client 'kwin_wayland' (pid 1005) …`.
const LOG_PROCESS_IDS: [&str; 6] = [" '", " \"", "(pid", " pid", " process ", " task "];

/// In place of what is missing of a log. It stands at the end.
const LOG_CUT: &str = "crosstie: this log was cut short";

/// What the kernel says of the fabric, its buses and its drivers.
const LOG_WORDS: [&str; 15] = [
    "linux version",
    "mlx5",
    "infiniband",
    "rdma_rxe",
    "nvidia_peermem",
    "nvidia-peermem",
    "nv_peer_mem",
    "nvrm",
    "cx7-pcie-hotplug",
    "pcieport",
    "aer:",
    "insufficient power",
    "iommu",
    "smmu",
    "dmar",
];

/// Lines of `dmesg`.
pub(super) fn kernel_log(text: &str) -> String {
    let kept = lines_with(text, &LOG_WORDS, &LOG_SECRETS);
    let (first, rest) = kept.split_at(FIRST_LINES.min(kept.len()));
    let last = &rest[rest.len().saturating_sub(LAST_LINES)..];
    let is_cut = first.len() + last.len() < kept.len() || is_cut_log(text);
    let kept = lines(first.iter().chain(last).copied());
    // A line that was cut may have lost its word, and one without its control characters may have come by another.
    let kept = lines_with(&kept, &LOG_WORDS, &LOG_SECRETS);
    let kept = kept
        .into_iter()
        .map(|line| without_people(without_process(line)));
    let end = is_cut.then(|| LOG_CUT.to_owned());
    let kept: Vec<String> = kept.chain(end).collect();
    lines(kept.iter().map(String::as_str))
}

/// Whether the end of a log says that some of it is missing.
pub(crate) fn is_cut_log(text: &str) -> bool {
    text.trim_end().lines().next_back() == Some(LOG_CUT)
}

/// The log as far as it was read.
pub fn cut_log(text: &str) -> String {
    format!("{text}{LOG_CUT}\n")
}

fn without_process(line: &str) -> &str {
    let has_id = line.to_ascii_lowercase().contains("pid");
    let ids = LOG_PROCESS_IDS.iter().filter(|_| has_id);
    let starts = ids.chain(&LOG_PROCESSES).filter_map(|word| line.find(word));
    starts.min().map_or(line, |start| line[..start].trim_end())
}

/// The lines that have one of the words, in any case, and none of the unwanted ones. The log is long and few lines are
/// kept, so it is searched for each word rather than line by line.
fn lines_with<'a>(text: &'a str, words: &[&str], unwanted: &[&str]) -> Vec<&'a str> {
    let lower = text.to_ascii_lowercase();
    let ends: Vec<usize> = memchr_iter(b'\n', lower.as_bytes())
        .chain([lower.len()])
        .collect();
    let mut keep = vec![false; ends.len()];
    for (list, wanted) in [(words, true), (unwanted, false)] {
        for at in list
            .iter()
            .flat_map(|word| memmem::find_iter(lower.as_bytes(), word))
        {
            keep[ends.partition_point(|end| *end < at)] = wanted;
        }
    }
    text.split('\n')
        .zip(keep)
        .filter(|(_, keep)| *keep)
        .map(|(line, _)| line.trim_end_matches('\r'))
        .collect()
}

/// Lines of `timedatectl show`.
pub(super) fn clock(text: &str) -> String {
    lines(text.lines().filter(|line| {
        let keys = ["NTP=", "NTPSynchronized=", "CanNTP="];
        let mut values = keys.iter().filter_map(|key| line.strip_prefix(key));
        values.any(|value| matches!(value.trim(), "yes" | "no"))
    }))
}

/// Variables of the collecting user's environment.
pub(super) fn environment(text: &str) -> String {
    let kept: Vec<String> = text.lines().filter_map(variable).collect();
    lines(kept.iter().map(String::as_str))
}

fn variable(line: &str) -> Option<String> {
    let (name, value) = line.split_once('=')?;
    let value = value.trim();
    let is_address =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'.' | b'%' | b'-' | b'_');
    match name {
        "UID" => value
            .parse::<u32>()
            .ok()
            .map(|number| format!("UID={number}")),
        // A link-local address has an interface behind it.
        "SSH_SERVER_ADDRESS" => (value.len() <= 64 && value.bytes().all(is_address))
            .then(|| format!("SSH_SERVER_ADDRESS={value}")),
        name => assignment(name, value),
    }
}

const COUNTER_WORDS: [&str; 11] = [
    "pause",
    "discard",
    "phy",
    "prio",
    "symbol",
    "err",
    "drop",
    "out_of_buffer",
    "icrc",
    "cnp",
    "ecn",
];

/// Lines of `ethtool -S`, the heading included.
pub(super) fn driver_counters(text: &str) -> String {
    lines(text.lines().filter(|line| {
        let counter = line.rsplit_once(':').is_some_and(|(name, value)| {
            let name = name.trim().to_lowercase();
            COUNTER_WORDS.iter().any(|word| name.contains(word))
                && name.split(' ').all(is_plain)
                && value.trim().parse::<u64>().is_ok()
        });
        counter || *line == "NIC statistics:"
    }))
}

/// Headings of `ethtool`, `ethtool --show-fec` and `ethtool -a`; an interface follows.
const HEADINGS: [&str; 3] = [
    "Settings for ",
    "FEC parameters for ",
    "Pause parameters for ",
];

/// Values that go on over lines of their own.
const MODES: [&str; 3] = [
    "Supported link modes",
    "Advertised link modes",
    "Link partner advertised link modes",
];

const LINK_KEYS: [&str; 16] = [
    "Auto-negotiation",
    "Autonegotiate",
    "Speed",
    "Lanes",
    "Duplex",
    "Port",
    "Link detected",
    "Supported FEC modes",
    "Advertised FEC modes",
    "Supported/Configured FEC encodings",
    "Configured FEC encodings",
    "Active FEC encoding",
    "Active FEC encodings",
    "RX",
    "TX",
    "Supported pause frame use",
];

/// Lines of `ethtool` that say what a link can do and does.
pub(super) fn link_settings(text: &str) -> String {
    let mut in_modes = false;
    let mut kept = Vec::new();
    for line in text.lines() {
        // What goes on from it goes too.
        if is_secret(line) {
            in_modes = false;
            continue;
        }
        let goes_on = in_modes && !line.contains(':');
        let line = if goes_on {
            leading(line, usize::MAX, is_mode)
        } else {
            in_modes = false;
            setting(line, &mut in_modes)
        };
        if !line.is_empty() {
            kept.push(line);
        }
    }
    lines(kept)
}

fn setting<'a>(line: &'a str, in_modes: &mut bool) -> &'a str {
    let heading = HEADINGS.iter().find(|start| line.starts_with(**start));
    if let Some(heading) = heading {
        return leading(line, heading.split_whitespace().count() + 1, is_plain);
    }
    let Some((key, value)) = line.split_once(':') else {
        return "";
    };
    *in_modes = MODES.contains(&key.trim());
    let value = if *in_modes || LINK_KEYS.contains(&key.trim()) {
        leading(value, 16, is_plain)
    } else {
        return "";
    };
    &line[..key.len() + 1 + value.len()]
}

/// `100000baseCR4/Full`
fn is_mode(word: &str) -> bool {
    is_plain(word)
        && word.contains("base")
        && word.starts_with(|start: char| start.is_ascii_digit())
}

fn lines<'a>(kept: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for line in kept {
        text.extend(
            line.chars()
                .filter(|character| !character.is_control() || *character == '\t')
                .take(MAX_LINE),
        );
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_log_keeps_what_is_listed() {
        let log = "[    0.000000] Linux version 6.17.0\n\
            [    0.000000] Command line: root=/dev/sda iommu=pt password=x\n\
            [    0.100000] Kernel command line: iommu=pt\n\
            [    1.000000] mlx5_core 0000:01:00.0: firmware version: 28.45.4028\n\
            [    2.000000] usb 1-1: New USB device, SerialNumber: 1234\n\
            [    3.000000] pcieport 0000:00:01.0: AER: Corrected error\n\
            [    4.000000] mlx5_core 0000:01:00.0: Detected insufficient power on the PCIe slot (27W).\n\
            [    5.000000] NVRM: loading NVIDIA UNIX Open Kernel Module\n\
            [    6.000000] NVRM: GPU Board Serial Number: 0324018045603\n\
            [    7.000000] NVRM: GPU at PCI:0000:01:00: GPU-c0ffee00-1111-2222-3333-444455556666\n\
            [    8.000000] NVRM: Xid (PCI:0000:01:00): 31, pid=12345, name=acme-train.py, Ch 00000008\n";
        let kept = kernel_log(log);
        let times: Vec<&str> = kept.lines().map(|line| &line[5..6]).collect();
        assert_eq!(times, ["0", "1", "3", "4", "5", "8"]);
        assert!(kept.ends_with("Xid (PCI:0000:01:00): 31\n"), "{kept}");
        for left_out in ["password", "0324018045603", "c0ffee00", "acme", "12345"] {
            assert!(!kept.contains(left_out), "{left_out}: {kept}");
        }
        assert_eq!(kernel_log(&kept), kept);
    }

    /// Texts of NVIDIA 570, of Linux 6.8 and of Ubuntu 24.04 without auditd.
    #[test]
    fn programs_and_people_in_the_kernel_log_stay_on_the_node() {
        let log = "[1] NVRM: API mismatch: the client 'acme-wayland' (pid 1005)\n\
            [2] NVRM: GPU1 process acme-train (PID 7) is gone\n\
            [3] audit: type=1130 audit(1.2:3): pid=1 uid=0 msg='unit=mlx5-acme comm=\"systemd\" exe=\"/x\"'\n\
            [4] audit: type=1123 audit(1.2:3): msg='cwd=\"/home/alice/acme-mlx5\" cmd=6C73'\n\
            [5] audit: type=1400 audit(1.2:3): apparmor=\"DENIED\" profile=\"snap.acme.train\" name=\"/dev/infiniband/uverbs0\"\n\
            [6] acme-train[812]: segfault at 0 ip 7f sp 7f error 4 in libmlx5.so.1.24[7f+5]\n\
            [7] INFO: task acme-mlx5:812 blocked for more than 120 seconds.\n\
            [8] Modules linked in: acme mlx5_core\n\
            [9] Linux version 6.8.0-31 (acme@buildbox) (gcc-13 (Ubuntu 13.2.0) 13.2.0) #1 SMP\n\
            [0] NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  580.142  Release Build  (acme@buildbox)\n";
        let kept = kernel_log(log);
        assert_eq!(
            kept,
            "[1] NVRM: API mismatch: the client\n[2] NVRM: GPU1\n\
            [9] Linux version 6.8.0-31 (gcc-13 (Ubuntu 13.2.0) 13.2.0) #1 SMP\n\
            [0] NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  580.142  Release Build\n"
        );
        assert_eq!(kernel_log(&kept), kept);
    }

    #[test]
    fn a_flooded_log_keeps_its_ends() {
        let flood: Vec<String> = (0..100_000).map(|line| format!("mlx5 {line}")).collect();
        let flood = flood.join("\n");
        let kept = kernel_log(&flood);
        assert_eq!(kept.lines().count(), FIRST_LINES + LAST_LINES + 1);
        let end = format!("mlx5 99999\n{LOG_CUT}\n");
        assert!(kept.starts_with("mlx5 0\n") && kept.ends_with(&end));
        assert_eq!(kernel_log(&kept), kept);
        assert!(is_cut_log(&kept) && !is_cut_log("mlx5 0\n"));
        assert!(is_cut_log(&kernel_log(&cut_log("mlx5 0\n"))));
        let long = kernel_log(&format!("mlx5{}\u{1b}[0m", "x".repeat(9000)));
        assert_eq!(long.len(), MAX_LINE + 1);
    }

    #[test]
    fn clocks_and_counters_keep_what_is_listed() {
        let shown =
            "Timezone=Europe/Berlin\nLocalRTC=no\nCanNTP=yes\nNTP=yes\nNTPSynchronized=no\n";
        assert_eq!(clock(shown), "CanNTP=yes\nNTP=yes\nNTPSynchronized=no\n");
        let shown = "NIC statistics:\n     rx_packets: 1\n     rx_prio3_pause: 2\n     rx_out_of_buffer: 3\n";
        let expected = "NIC statistics:\n     rx_prio3_pause: 2\n     rx_out_of_buffer: 3\n";
        assert_eq!(driver_counters(shown), expected);
    }
}
