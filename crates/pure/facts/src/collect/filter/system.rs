//! The machine, its memory and its limits.

use sha2::{Digest, Sha256};

use super::{is_comment, keyed, lines};

pub(in crate::collect) fn os_release(text: &str) -> Option<String> {
    let keys = [
        "ID",
        "ID_LIKE",
        "NAME",
        "PRETTY_NAME",
        "VERSION_ID",
        "VERSION_CODENAME",
    ];
    keyed(text, '=', &keys)
}

/// machine-id(5) asks that the id stay on the machine; a keyed hash tells clones apart just as well.
pub(in crate::collect) fn machine_id(text: &str) -> Option<String> {
    const MARK: &str = "hashed-";
    let id = text.trim();
    if id.is_empty() || id.starts_with(MARK) {
        return (!id.is_empty()).then(|| format!("{id}\n"));
    }
    let digest = Sha256::digest(format!("crosstie machine-id {id}"));
    let half: [u8; 16] = std::array::from_fn(|index| digest[index]);
    let hex = format!("{:032x}", u128::from_be_bytes(half));
    Some(format!("{MARK}{hex}\n"))
}

/// Parameters that decide how devices are driven. Anything else on the command line may be a secret.
pub(in crate::collect) fn kernel_parameters(text: &str) -> Option<String> {
    const EXACT: [&str; 26] = [
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
    ];
    const PREFIXES: [&str; 7] = [
        "mlx5",
        "nvidia",
        "ib_",
        "rdma",
        "module_blacklist",
        "modprobe.blacklist",
        "intel_idle",
    ];
    let kept: Vec<&str> = text
        .split_ascii_whitespace()
        .filter(|parameter| {
            let key = parameter.split_once('=').map_or(*parameter, |(key, _)| key);
            EXACT.contains(&key) || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
        })
        .collect();
    Some(kept.join(" ") + "\n")
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
        "Hugepagesize",
    ];
    keyed(text, ':', &keys)
}

pub(in crate::collect) fn node_meminfo(text: &str) -> Option<String> {
    lines(text, |line| line.contains("MemTotal:"))
}

/// One processor stands for all; serial numbers (which some ARM boards print here) stay out.
pub(in crate::collect) fn cpuinfo(text: &str) -> Option<String> {
    let keys = ["model name", "CPU implementer", "CPU part"];
    let first = text.split("\n\n").next().unwrap_or("");
    keyed(first, ':', &keys)
}

pub(in crate::collect) fn process_limits(text: &str) -> Option<String> {
    lines(text, |line| {
        line.starts_with("Limit ") || line.starts_with("Max locked memory")
    })
}

pub(in crate::collect) fn login_limits(text: &str) -> Option<String> {
    lines(text, |line| {
        !is_comment(line) && line.split_whitespace().nth(2) == Some("memlock")
    })
}

pub(in crate::collect) fn manager_limits(text: &str) -> Option<String> {
    lines(text, |line| {
        line.trim() == "[Manager]" || line.trim_start().starts_with("DefaultLimitMEMLOCK")
    })
}

pub(in crate::collect) fn without_comments(text: &str) -> Option<String> {
    lines(text, |line| !line.trim().is_empty() && !is_comment(line))
}

/// Only the network and memory settings that this tool reads or writes.
pub(in crate::collect) fn sysctl_file(text: &str) -> Option<String> {
    lines(text, |line| {
        let key = line.trim_start().trim_start_matches('-').replace('/', ".");
        [
            "net.core.",
            "net.ipv4.",
            "net.ipv6.conf.",
            "kernel.numa_balancing",
        ]
        .iter()
        .any(|prefix| key.starts_with(prefix))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_id_is_hashed_once() {
        let once = machine_id("0123456789abcdef0123456789abcdef\n").unwrap();
        assert!(!once.contains("0123456789abcdef"));
        assert_eq!(machine_id(&once).unwrap(), once);
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
    }

    #[test]
    fn limits_are_about_locked_memory_only() {
        let text = "# c\n* soft memlock unlimited\nalice hard nofile 1\n@rdma - memlock 1024\n";
        assert_eq!(
            login_limits(text).unwrap(),
            "* soft memlock unlimited\n@rdma - memlock 1024\n"
        );
        let half_a_line_end = login_limits("* soft memlock unlimited\r").unwrap();
        assert_eq!(half_a_line_end, "* soft memlock unlimited\n");
    }
}
