//! The machine, its memory and its limits.

use sha2::{Digest, Sha256};

use super::{
    is_comment, keyed, lines,
    packages::module_matters,
    word::{is_description, is_number, is_plain, leading, shell_word},
};
use crate::collect::{interface_name::is_given_by_system, secret::is_secret};

pub(in crate::collect) fn os_release(text: &str) -> Option<String> {
    let keys = [
        "ID",
        "ID_LIKE",
        "NAME",
        "PRETTY_NAME",
        "VERSION_ID",
        "VERSION_CODENAME",
    ];
    lines(text, |line| {
        let (key, value) = line.split_once('=')?;
        let (value, _) = shell_word(value).filter(|_| keys.contains(&key))?;
        let plain = value.split_whitespace().all(is_plain);
        let quote = if value.contains(char::is_whitespace) {
            "\""
        } else {
            ""
        };
        plain.then(|| format!("{key}={quote}{value}{quote}"))
    })
}

/// machine-id(5) asks that the id stay on the machine; a keyed hash tells clones apart just as well.
pub(in crate::collect) fn machine_id(text: &str) -> Option<String> {
    const HASHED_PREFIX: &str = "hashed-";
    let id = text.trim();
    let is_id = |id: &str| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if id.strip_prefix(HASHED_PREFIX).is_some_and(is_id) {
        return Some(format!("{id}\n"));
    }
    // `uninitialized`, nothing but zeros: it was never set.
    if !is_id(id) || id.bytes().all(|byte| byte == b'0') {
        return None;
    }
    let digest = Sha256::digest(format!("crosstie machine-id {id}"));
    let half: [u8; 16] = std::array::from_fn(|index| digest[index]);
    let hex = format!("{:032x}", u128::from_be_bytes(half));
    Some(format!("{HASHED_PREFIX}{hex}\n"))
}

/// Parameters that decide how devices are driven. Anything else on the command line may be a secret.
pub(in crate::collect) fn kernel_parameters(text: &str) -> Option<String> {
    const EXACT: [&str; 28] = [
        "quiet",
        "ro",
        "rw",
        "splash",
        "iommu",
        "intel_iommu",
        "amd_iommu",
        "iommu.passthrough",
        "iommu.strict",
        "arm-smmu.disable_bypass",
        "pci",
        "pcie_aspm",
        "pcie_aspm.policy",
        "pcie_ports",
        "kho",
        "cma",
        "hugepages",
        "hugepagesz",
        "default_hugepagesz",
        "numa_balancing",
        "mitigations",
        "net.ifnames",
        "biosdevname",
        "isolcpus",
        "nohz_full",
        "processor.max_cstate",
        "module_blacklist",
        "modprobe.blacklist",
    ];
    /// Modules' own parameters: their switches and numbers, by name alone where the value is anything else.
    const PREFIXES: [&str; 5] = ["mlx5", "nvidia", "ib_", "rdma", "intel_idle"];
    let kept: Vec<&str> = text
        .split_ascii_whitespace()
        // What follows is for init.
        .take_while(|parameter| *parameter != "--")
        // One of them must not take the others with it.
        .filter(|parameter| !is_secret(parameter))
        .filter_map(|parameter| {
            let (key, value) = match parameter.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (parameter, None),
            };
            let passes = |test: fn(&str) -> bool| value.is_none_or(test);
            if EXACT.contains(&key) {
                Some(if passes(is_setting) { parameter } else { key })
            } else {
                let listed = is_plain(key) && PREFIXES.iter().any(|prefix| key.starts_with(prefix));
                listed.then_some(if passes(is_switch) { parameter } else { key })
            }
        })
        .collect();
    Some(kept.join(" ") + "\n")
}

/// `pt`, `off`, `managed_irq,1-3`, `nomsi,pcie_bus_perf`
fn is_setting(value: &str) -> bool {
    value.len() <= 64 && is_plain(value) && !value.contains(['(', '@', '/'])
}

fn is_switch(value: &str) -> bool {
    const WORDS: [&str; 10] = [
        "y", "n", "Y", "N", "yes", "no", "on", "off", "true", "false",
    ];
    let number = value.strip_prefix("0x").unwrap_or(value);
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b',' | b'-' | b'.');
    WORDS.contains(&value) || (value.len() <= 16 && number.bytes().all(is_part))
}

pub(in crate::collect) fn meminfo(text: &str) -> Option<String> {
    let keys = [
        "MemTotal",
        "MemFree",
        "MemAvailable",
        "CmaTotal",
        "CmaFree",
        "HugePages_Total",
        "HugePages_Free",
    ];
    keyed(text, ':', &keys, |value| leading(value, 2, is_amount))
}

fn is_amount(word: &str) -> bool {
    word == "kB" || is_number(word)
}

/// `Node 0 MemTotal:  8 kB`
pub(in crate::collect) fn node_meminfo(text: &str) -> Option<String> {
    lines(text, |line| {
        let passes = |word: &str| matches!(word, "Node" | "MemTotal:") || is_amount(word);
        let kept = leading(line, 5, passes);
        kept.contains("MemTotal:").then(|| kept.to_owned())
    })
}

/// One processor stands for all; serial numbers (which some ARM boards print here) stay out.
pub(in crate::collect) fn cpuinfo(text: &str) -> Option<String> {
    let keys = ["model name", "CPU implementer", "CPU part"];
    let first = text.split("\n\n").next().unwrap_or("");
    keyed(first, ':', &keys, |value| {
        leading(value, usize::MAX, is_description)
    })
}

pub(in crate::collect) fn process_limits(text: &str) -> Option<String> {
    lines(text, |line| {
        let passes = |word: &str| {
            const WORDS: [&str; 8] = [
                "Limit", "Soft", "Hard", "Units", "Max", "locked", "memory", "bytes",
            ];
            WORDS.contains(&word) || is_limit(word)
        };
        let listed = line.starts_with("Limit ") || line.starts_with("Max locked memory");
        listed.then(|| leading(line, 6, passes).to_owned())
    })
}

fn is_limit(word: &str) -> bool {
    matches!(word, "unlimited" | "infinity" | "-1") || is_number(word)
}

/// `DOMAIN TYPE memlock VALUE`. Whose name a domain is, nobody has to know: only lines for everyone and for root are judged.
pub(in crate::collect) fn login_limits(text: &str) -> Option<String> {
    lines(text, |line| {
        let line = line.split('#').next().unwrap_or("").trim_end();
        let [domain, kind, "memlock", value] = line.split_whitespace().collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let domain = match domain {
            "*" | "root" => domain,
            group if group.starts_with(['@', '%']) => "@group",
            _ => "user",
        };
        let plain = matches!(kind, "soft" | "hard" | "-") && is_limit(value);
        plain.then(|| format!("{domain} {kind} memlock {value}"))
    })
}

pub(in crate::collect) fn manager_limits(text: &str) -> Option<String> {
    lines(text, |line| {
        if line.trim() == "[Manager]" {
            return Some("[Manager]".to_owned());
        }
        let (key, value) = line.split_once('=')?;
        let value = leading(value, 1, is_plain).trim();
        let listed = key.trim() == "DefaultLimitMEMLOCK" && !value.is_empty();
        listed.then(|| format!("{}={value}", key.trim()))
    })
}

/// Modules to load, one a line; parameters, where old files have them, stay on the node.
pub(in crate::collect) fn module_names(text: &str) -> Option<String> {
    lines(text, |line| {
        let is_module = |word: &str| {
            word.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        let name = leading(line, 1, is_module);
        // That would be some other file's assignment.
        let assigns = line[name.len()..].trim_start().starts_with('=');
        (module_matters(name) && !assigns).then(|| name.trim().to_owned())
    })
}

/// Only the network and memory settings that this tool reads or writes, which are numbers, but for two.
pub(in crate::collect) fn sysctl_file(text: &str) -> Option<String> {
    const PREFIXES: [&str; 4] = [
        "net.core.",
        "net.ipv4.",
        "net.ipv6.conf.",
        "kernel.numa_balancing",
    ];
    const NAMED: [&str; 2] = ["net.ipv4.tcp_congestion_control", "net.core.default_qdisc"];
    lines(text, |line| {
        let (key, value) = line.split_once('=')?;
        let key = key.trim();
        let name = key.trim_start_matches('-').replace('/', ".");
        let listed = is_plain(&name)
            && PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            && names_nobody(&name);
        let value = if NAMED.contains(&name.as_str()) {
            leading(value, 1, is_plain)
        } else {
            leading(value, 3, |word| {
                is_number(word.strip_prefix('-').unwrap_or(word))
            })
        };
        (listed && !is_comment(line) && !value.is_empty())
            .then(|| format!("{key} = {}", value.trim()))
    })
}

/// Whether a setting is for all interfaces, or for one whose name no person chose.
fn names_nobody(setting: &str) -> bool {
    const OF_INTERFACES: [&str; 3] = ["net.ipv4.conf.", "net.ipv6.conf.", "net.ipv4.neigh."];
    let of_interface = OF_INTERFACES
        .iter()
        .find_map(|start| setting.strip_prefix(start));
    let Some((interface, _)) = of_interface.and_then(|rest| rest.rsplit_once('.')) else {
        return of_interface.is_none();
    };
    matches!(interface, "all" | "default" | "lo" | "*") || is_given_by_system(interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_id_is_hashed_once() {
        let once = machine_id("0123456789abcdef0123456789abcdef\n").unwrap();
        assert!(!once.contains("0123456789abcdef"));
        assert_eq!(machine_id(&once).unwrap(), once);
        assert_eq!(machine_id("uninitialized\n"), None);
        assert_ne!(
            machine_id("f123456789abcdef0123456789abcdef\n").unwrap(),
            once
        );
    }

    #[test]
    fn the_command_line_keeps_no_secret() {
        let text = "BOOT_IMAGE=/vmlinuz root=UUID=1 iommu.passthrough=0 luks.key=geheim mlx5_core.probe_vf=0 kho=off";
        assert_eq!(
            kernel_parameters(text).unwrap(),
            "iommu.passthrough=0 mlx5_core.probe_vf=0 kho=off\n"
        );
        assert_eq!(
            kernel_parameters("nvidia.NVreg_A=geheim pci=x@y iommu=pt -- kho=geheim").unwrap(),
            "nvidia.NVreg_A pci iommu=pt\n"
        );
    }

    #[test]
    fn limits_are_about_locked_memory_only() {
        let text = "# c\n* soft memlock unlimited\nalice hard nofile 1\n@rdma - memlock 1024\n";
        assert_eq!(
            login_limits(text).unwrap(),
            "* soft memlock unlimited\n@group - memlock 1024\n"
        );
        let people = "alice\tsoft memlock 1\n%staff - memlock 2\n1000: hard memlock 3\nroot - memlock 4\n$x - memlock 5\n";
        let kept = login_limits(people).unwrap();
        assert_eq!(
            kept,
            "user soft memlock 1\n@group - memlock 2\nuser hard memlock 3\nroot - memlock 4\nuser - memlock 5\n"
        );
        assert_eq!(login_limits(&kept).unwrap(), kept);
        let kept = login_limits("* - memlock 7 # why\n* - memlock 7 8\n* - memlock $X\n").unwrap();
        assert_eq!(kept, "* - memlock 7\n");
        let half_a_line_end = login_limits("* soft memlock unlimited\r").unwrap();
        assert_eq!(half_a_line_end, "* soft memlock unlimited\n");
    }
    #[test]
    fn kernel_settings_are_numbers() {
        let text = "net.ipv4.tcp_rmem = 4096 131072 6291456 # mine\nnet.ipv6.conf.all.stable_secret = fe80::1\n\
            -net/core/rmem_max=1;x\nnet.core.wmem_max= 5\nnet.core.default_qdisc = fq x\nkernel.hostname = 7\n";
        let kept = sysctl_file(text).unwrap();
        assert_eq!(
            kept,
            "net.ipv4.tcp_rmem = 4096 131072 6291456\nnet.core.wmem_max = 5\nnet.core.default_qdisc = fq\n"
        );
        assert_eq!(sysctl_file(&kept).unwrap(), kept);
    }

    #[test]
    fn settings_of_interfaces_that_people_named_stay_on_the_node() {
        let text = "net.ipv4.conf.wg-acme.rp_filter = 2\nnet/ipv4/conf/alice.7/arp_ignore = 1\nnet.ipv6.conf.acme.disable_ipv6=1\n\
            net.ipv4.neigh.acme.gc_thresh1 = 1\nnet.ipv4.conf.acme = 1\n";
        assert_eq!(sysctl_file(text), None);
        let kept = "net.ipv4.conf.all.rp_filter = 2\nnet.ipv4.conf.enP2p1s0f0np0.arp_ignore = 1\n\
            net/ipv4/conf/bond0.177/arp_ignore = 1\nnet.ipv4.conf.bond0/177.arp_ignore = 1\nnet.ipv4.conf.*.rp_filter = 0\n";
        assert_eq!(sysctl_file(kept).unwrap(), kept);
    }

    #[test]
    fn modules_come_without_their_parameters() {
        let text = "# c\nrdma_ucm\n mlx5_core x=geheim\n; d\nib-core # e\n$x\n";
        assert_eq!(
            module_names(text).unwrap(),
            "rdma_ucm\nmlx5_core\nib-core\n"
        );
    }
}
