//! Command output, cut down by allow-list: a capture may be posted in public.

use crosstie_facts::Gap;
use serde_json::Value;

const MAX_LINE: usize = 500;
/// A card that floods the log with errors leaves its start and its end.
const FIRST_LINES: usize = 1000;
const LAST_LINES: usize = 3000;

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
pub(super) fn kernel_log(output: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(output);
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| {
            let lower = line.to_lowercase();
            // It can name `iommu=pt` beside a password for the network boot.
            !lower.contains("command line") && LOG_WORDS.iter().any(|word| lower.contains(word))
        })
        .collect();
    if kept.len() <= FIRST_LINES + LAST_LINES {
        return lines(kept);
    }
    let (first, rest) = kept.split_at(FIRST_LINES);
    let last = &rest[rest.len() - LAST_LINES..];
    lines(first.iter().chain(last).copied())
}

/// Lines of `timedatectl show`.
pub(super) fn clock(output: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(output);
    lines(text.lines().filter(|line| {
        ["NTP=", "NTPSynchronized=", "CanNTP="]
            .iter()
            .any(|key| line.starts_with(key))
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
pub(super) fn driver_counters(output: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(output);
    lines(text.lines().filter(|line| {
        let counter = line.split_once(':').is_some_and(|(name, _)| {
            let name = name.to_lowercase();
            COUNTER_WORDS.iter().any(|word| name.contains(word))
        });
        counter || *line == "NIC statistics:"
    }))
}

fn lines<'a>(kept: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut text = String::new();
    for line in kept {
        text.extend(
            line.chars()
                .filter(|character| !character.is_control() || *character == '\t')
                .take(MAX_LINE),
        );
        text.push('\n');
    }
    text.into_bytes()
}

/// nft's JSON without comments, which people write, and counters, which change.
pub(super) fn firewall(output: &[u8]) -> Result<Vec<u8>, Gap> {
    let mut ruleset: Value = serde_json::from_slice(output)
        .map_err(|error| Gap::Failed(format!("nft printed no JSON: {error}")))?;
    strip(&mut ruleset);
    serde_json::to_vec(&ruleset).map_err(|error| Gap::Failed(error.to_string()))
}

/// `serde_json` bounds the depth at 128.
fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("comment");
            object.values_mut().for_each(strip);
        }
        Value::Array(array) => {
            let is_counter = |value: &Value| {
                value
                    .as_object()
                    .is_some_and(|object| object.len() == 1 && object.contains_key("counter"))
            };
            array.retain(|value| !is_counter(value));
            array.iter_mut().for_each(strip);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

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
        let kept = text(kernel_log(log.as_bytes()));
        let times: Vec<&str> = kept.lines().map(|line| &line[5..6]).collect();
        assert_eq!(times, ["0", "1", "3", "4", "5"]);
        assert!(!kept.contains("password"));
    }

    #[test]
    fn a_flooded_log_keeps_its_ends() {
        let flood: Vec<String> = (0..100_000).map(|line| format!("mlx5 {line}")).collect();
        let flood = flood.join("\n");
        let kept = text(kernel_log(flood.as_bytes()));
        assert_eq!(kept.lines().count(), FIRST_LINES + LAST_LINES);
        assert!(kept.starts_with("mlx5 0\n") && kept.ends_with("mlx5 99999\n"));
        let long = text(kernel_log(
            format!("mlx5{}\u{1b}[0m", "x".repeat(9000)).as_bytes(),
        ));
        assert_eq!(long.len(), MAX_LINE + 1);
    }

    #[test]
    fn clocks_and_counters_keep_what_is_listed() {
        let shown =
            b"Timezone=Europe/Berlin\nLocalRTC=no\nCanNTP=yes\nNTP=yes\nNTPSynchronized=no\n";
        assert_eq!(
            text(clock(shown)),
            "CanNTP=yes\nNTP=yes\nNTPSynchronized=no\n"
        );
        let shown = b"NIC statistics:\n     rx_packets: 1\n     rx_prio3_pause: 2\n     rx_out_of_buffer: 3\n";
        let expected = "NIC statistics:\n     rx_prio3_pause: 2\n     rx_out_of_buffer: 3\n";
        assert_eq!(text(driver_counters(shown)), expected);
    }

    #[test]
    fn rules_lose_comments_and_counters() {
        let ruleset = json!({ "nftables": [
            { "metainfo": { "version": "1.0.9" } },
            { "counter": { "family": "inet", "name": "total", "packets": 1 } },
            { "chain": { "family": "inet", "table": "filter", "name": "input", "hook": "input",
                         "policy": "drop", "comment": "call Bob" } },
            { "rule": { "family": "inet", "chain": "input", "comment": "x", "expr": [
                { "match": { "op": "==", "left": { "meta": { "key": "iifname" } }, "right": "lo" } },
                { "counter": { "packets": 7, "bytes": 9 } },
                { "accept": null } ] } },
        ] });
        let kept = firewall(&serde_json::to_vec(&ruleset).unwrap()).unwrap();
        let kept: Value = serde_json::from_slice(&kept).unwrap();
        let list = kept["nftables"].as_array().unwrap();
        assert_eq!(list.len(), 3);
        assert_eq!(list[2]["rule"]["expr"].as_array().unwrap().len(), 2);
        let printed = kept.to_string();
        assert!(
            !printed.contains("comment") && !printed.contains("counter"),
            "{printed}"
        );
        assert!(matches!(firewall(b"Error"), Err(Gap::Failed(_))));
    }
}
