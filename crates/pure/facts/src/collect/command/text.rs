//! Output that is lines: those that are listed stay.

use memchr::{memchr_iter, memmem};

use crate::collect::filter::is_engine_variable;

const MAX_LINE: usize = 500;
/// A card that floods the log with errors leaves its start and its end.
const FIRST_LINES: usize = 1000;
const LAST_LINES: usize = 3000;

/// The command line can name `iommu=pt` beside a password for the network boot.
const LOG_SECRETS: [&str; 1] = ["command line"];

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
    if kept.len() <= FIRST_LINES + LAST_LINES {
        return lines(kept);
    }
    let (first, rest) = kept.split_at(FIRST_LINES);
    let last = &rest[rest.len() - LAST_LINES..];
    lines(first.iter().chain(last).copied())
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
        ["NTP=", "NTPSynchronized=", "CanNTP="]
            .iter()
            .any(|key| line.starts_with(key))
    }))
}

/// Variables of the collecting user's environment.
pub(super) fn environment(text: &str) -> String {
    lines(text.lines().filter(|line| {
        let name = line.split_once('=').map_or("", |(name, _)| name);
        matches!(name, "UID" | "SSH_SERVER_ADDRESS") || is_engine_variable(name)
    }))
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
        let counter = line.split_once(':').is_some_and(|(name, _)| {
            let name = name.to_lowercase();
            COUNTER_WORDS.iter().any(|word| name.contains(word))
        });
        counter || *line == "NIC statistics:"
    }))
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
            [    5.000000] NVRM: loading NVIDIA UNIX Open Kernel Module\n";
        let kept = kernel_log(log);
        let times: Vec<&str> = kept.lines().map(|line| &line[5..6]).collect();
        assert_eq!(times, ["0", "1", "3", "4", "5"]);
        assert!(!kept.contains("password"));
    }

    #[test]
    fn a_flooded_log_keeps_its_ends() {
        let flood: Vec<String> = (0..100_000).map(|line| format!("mlx5 {line}")).collect();
        let flood = flood.join("\n");
        let kept = kernel_log(&flood);
        assert_eq!(kept.lines().count(), FIRST_LINES + LAST_LINES);
        assert!(kept.starts_with("mlx5 0\n") && kept.ends_with("mlx5 99999\n"));
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
