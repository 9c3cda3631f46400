//! Which machine this is.

use crosstie_model::{
    Bytes, Reading,
    facts::host::{Cpu, Distro, Dmi, HostFacts, MemoryFacts, NumaNode},
};

use crate::RawCapture;

pub(super) fn host(raw: &RawCapture) -> HostFacts {
    HostFacts {
        name: name(raw),
        arch: raw.word("proc/sys/kernel/arch"),
        distro: distro(&raw.text("etc/os-release")),
        kernel: raw.word("proc/sys/kernel/osrelease"),
        command_line: raw
            .text("proc/cmdline")
            .map(|text| text.split_whitespace().map(str::to_owned).collect()),
        dmi: Dmi {
            vendor: raw.word("sys/class/dmi/id/sys_vendor"),
            product: raw.word("sys/class/dmi/id/product_name"),
            board: raw.word("sys/class/dmi/id/board_name"),
            bios_version: raw.word("sys/class/dmi/id/bios_version"),
        },
        machine_id: raw.word("etc/machine-id"),
        boot_id: raw.word("proc/sys/kernel/random/boot_id"),
        cpu: cpu(raw),
        numa: numa(raw),
        memory: memory(raw),
    }
}

/// The capture's own word first: it may have been renamed to be posted.
fn name(raw: &RawCapture) -> String {
    let candidates = [
        Reading::Value(raw.meta.host.clone()),
        raw.word("proc/sys/kernel/hostname"),
        raw.word("etc/hostname"),
    ];
    candidates
        .into_iter()
        .filter_map(Reading::into_known)
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| "unnamed".to_owned())
}

/// Of the text of os-release.
pub fn distro(release: &Reading<&str>) -> Distro {
    let field = |key: &str| {
        release.as_ref().and_then(|text| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(found, _)| *found == key)
                .map(|(_, value)| value.trim_matches(['"', '\'']).to_owned())
                .into()
        })
    };
    Distro {
        id: field("ID"),
        version: field("VERSION_ID"),
        pretty: field("PRETTY_NAME"),
    }
}

fn cpu(raw: &RawCapture) -> Cpu {
    let model = raw.text("proc/cpuinfo").and_then(|text| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == "model name")
            .map(|(_, value)| value.trim().to_owned())
            .into()
    });
    let online =
        raw.text("sys/devices/system/cpu/online")
            .and_then(|text| match count_ranges(text) {
                Some(count) => Reading::Value(count),
                None => Reading::malformed(text),
            });
    Cpu { model, online }
}

/// How many numbers a list such as `0-3,8-11` names.
fn count_ranges(list: &str) -> Option<u32> {
    list.split(',').try_fold(0_u32, |count, range| {
        let (start, end) = range.split_once('-').unwrap_or((range, range));
        let (start, end): (u32, u32) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
        count.checked_add(end.checked_sub(start)?.checked_add(1)?)
    })
}

fn numa(raw: &RawCapture) -> Vec<NumaNode> {
    const NODES: &str = "sys/devices/system/node";
    let mut nodes: Vec<NumaNode> = raw
        .names(NODES)
        .into_iter()
        .filter_map(|name| {
            let directory = format!("{NODES}/{name}");
            Some(NumaNode {
                id: name.strip_prefix("node")?.parse().ok()?,
                cpus: raw.word(&format!("{directory}/cpulist")),
                memory: raw
                    .text(&format!("{directory}/meminfo"))
                    .and_then(|text| kib_field(text, "MemTotal")),
            })
        })
        .collect();
    nodes.sort_by_key(|node| node.id);
    nodes
}

fn memory(raw: &RawCapture) -> MemoryFacts {
    let meminfo = raw.text("proc/meminfo");
    let kib = |key| meminfo.as_ref().and_then(|text| kib_field(text, key));
    MemoryFacts {
        total: kib("MemTotal"),
        available: kib("MemAvailable"),
        cma_total: kib("CmaTotal"),
        cma_free: kib("CmaFree"),
        huge_pages_free: meminfo
            .as_ref()
            .and_then(|text| field(text, "HugePages_Free")),
    }
}

fn kib_field(text: &str, key: &str) -> Reading<Bytes> {
    field(text, key).map(Bytes::from_kib)
}

/// `KEY:  NUMBER [kB]`, with whatever stands before the key (`Node 0 MemTotal:`).
fn field(text: &str, key: &str) -> Reading<u64> {
    let line = text.lines().find_map(|line| {
        let (before, value) = line.split_once(':')?;
        (before.split_whitespace().next_back() == Some(key)).then_some(value)
    });
    match line {
        None => Reading::Absent,
        Some(value) => match value.trim().trim_end_matches("kB").trim().parse() {
            Ok(number) => Reading::Value(number),
            Err(_) => Reading::malformed(value),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_lists_are_counted() {
        assert_eq!(count_ranges("0-19"), Some(20));
        assert_eq!(count_ranges("0,2-3"), Some(3));
        assert_eq!(count_ranges("3-1"), None);
        assert_eq!(count_ranges("0-4294967295"), None);
        assert_eq!(count_ranges(""), None);
    }

    #[test]
    fn memory_of_a_node_and_of_the_machine_read_alike() {
        assert_eq!(
            kib_field("Node 0 MemTotal:  8 kB\n", "MemTotal"),
            Reading::Value(Bytes(8192))
        );
        assert_eq!(
            field("HugePages_Free:  3\n", "HugePages_Free"),
            Reading::Value(3)
        );
        assert!(matches!(
            field("MemTotal: x kB", "MemTotal"),
            Reading::Malformed(_)
        ));
    }
}
