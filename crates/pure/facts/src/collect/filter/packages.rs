//! Packages and modules that matter to RDMA, GPUs and the network.

use super::lines;

/// Parts of package names; a package is kept if its name contains one of them.
const PACKAGES: &[&str] = &[
    "rdma",
    "ibverbs",
    "infiniband",
    "mlnx",
    "mlx5",
    "ofed",
    "doca",
    "mft",
    "mstflint",
    "perftest",
    "opensm",
    "ibsim",
    "ucx",
    "openmpi",
    "nccl",
    "nvidia",
    "cuda",
    "netplan",
    "network-manager",
    "ifupdown",
    "iproute2",
    "ethtool",
    "nftables",
    "iptables",
    "ufw",
    "firewalld",
    "chrony",
    "ntp",
    "linux-modules-extra",
    "openssh-server",
    "docker",
    "podman",
    "containerd",
    "lldpad",
    "iperf3",
    "avahi-daemon",
];
const EXACT_PACKAGES: &[&str] = &["systemd", "systemd-timesyncd", "libc6", "rasdaemon"];

/// dpkg's status, less what is not installed or not ours to know, and less all but four fields.
pub(in crate::collect) fn dpkg_status(text: &str) -> Option<String> {
    let mut kept = String::new();
    for stanza in text.split("\n\n") {
        let name = stanza
            .trim_start()
            .strip_prefix("Package:")
            .and_then(|rest| rest.lines().next())
            .map_or("", str::trim);
        let matters =
            EXACT_PACKAGES.contains(&name) || PACKAGES.iter().any(|part| name.contains(part));
        if name.is_empty() || !matters {
            continue;
        }
        for line in stanza.lines() {
            let field = line.split_once(':').map_or("", |(field, _)| field);
            if matches!(field, "Package" | "Status" | "Architecture" | "Version") {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        kept.push('\n');
    }
    // An empty status still says that dpkg is there and has none of them.
    Some(kept)
}

/// Parts of module names.
const MODULES: &[&str] = &[
    "mlx",
    "ib_",
    "rdma",
    "iw_",
    "nvidia",
    "nv_peer",
    "siw",
    "rxe",
    "irdma",
    "bnxt_re",
    "efa",
    "nvme_rdma",
    "rpcrdma",
    "cx7",
];

fn module_matters(name: &str) -> bool {
    let name = name.replace('-', "_");
    MODULES.iter().any(|part| name.contains(part))
}

pub(in crate::collect) fn modules(text: &str) -> Option<String> {
    lines(text, |line| {
        module_matters(line.split(' ').next().unwrap_or(""))
    })
}

/// Lines of modules.dep: `PATH: DEPENDENCIES`; only the module's own path is wanted.
pub(in crate::collect) fn module_paths(text: &str) -> Option<String> {
    let mut kept = String::new();
    for line in text.lines() {
        let Some((path, _)) = line.split_once(':') else {
            continue;
        };
        let file = path.rsplit('/').next().unwrap_or(path);
        if module_matters(file.split('.').next().unwrap_or(file)) {
            kept.push_str(path);
            kept.push_str(":\n");
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stanzas_are_cut_to_name_state_and_version() {
        let status = "Package: rdma-core\nStatus: install ok installed\nMaintainer: A <a@b.c>\nVersion: 44.0-2\nDescription: x\n y\n\nPackage: secret-tool\nStatus: install ok installed\nVersion: 1\n";
        let kept = dpkg_status(status).unwrap();
        assert_eq!(
            kept,
            "Package: rdma-core\nStatus: install ok installed\nVersion: 44.0-2\n\n"
        );
        assert_eq!(dpkg_status(&kept).unwrap(), kept);
    }

    #[test]
    fn module_paths_keep_where_a_module_comes_from() {
        let text = "updates/dkms/mlx5_core.ko: a.ko b.ko\nkernel/fs/ext4/ext4.ko:\n";
        assert_eq!(module_paths(text).unwrap(), "updates/dkms/mlx5_core.ko:\n");
    }
}
