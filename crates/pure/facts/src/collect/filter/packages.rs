//! Packages and modules that matter to RDMA, GPUs and the network.

use crosstie_model::distribution::is_read;
use memchr::memmem;

use super::{
    lines,
    word::{is_plain, leading},
};
use crate::{collect::secret::is_secret, renderer};

fn package_matters(name: &str) -> bool {
    let stem = name.strip_prefix("lib").unwrap_or(name);
    let mut renderers = renderer::ALL.iter().flat_map(|one| one.packages());
    is_read(name) || renderers.any(|start| stem.starts_with(start))
}

/// dpkg's status, less what is not ours to know, and less all but four fields. The file is long and most of it is
/// left out, so it is searched rather than read.
pub(in crate::collect) fn dpkg_status(text: &str) -> Option<String> {
    const START: &str = "Package:";
    let mut kept = String::new();
    for start in memmem::find_iter(text.as_bytes(), START) {
        let stanza = &text[start..];
        let begins_a_line = start == 0 || text.as_bytes()[start - 1] == b'\n';
        let name = stanza[START.len()..].lines().next().unwrap_or("");
        let name = leading(name, 1, is_plain).trim();
        // A stanza goes with its name.
        if begins_a_line && package_matters(name) && !is_secret(name) {
            kept.extend([START, " ", name, "\n"]);
            // A stanza ends at the next one too: else, without empty lines, each would be kept with all that follow.
            let fields = stanza.lines().skip(1);
            for line in fields.take_while(|line| !line.is_empty() && !line.starts_with(START)) {
                let (field, value, words) = match line.split_once(':') {
                    // `install ok installed`
                    Some(("Status", value)) => ("Status:", value, 3),
                    Some(("Architecture", value)) => ("Architecture:", value, 1),
                    Some(("Version", value)) => ("Version:", value, 1),
                    _ => continue,
                };
                kept.extend([field, leading(value, words, is_plain), "\n"]);
            }
            kept.push('\n');
        }
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

/// Modules of others may tell what a machine is for.
pub(super) fn module_matters(name: &str) -> bool {
    let name = name.replace('-', "_");
    MODULES.iter().any(|part| name.contains(part))
}

/// Lines of /proc/modules: `NAME SIZE USERS USED-BY STATE ADDRESS (TAINTS)`.
pub(in crate::collect) fn modules(text: &str) -> Option<String> {
    lines(text, |line| {
        let kept = leading(line, 6, is_plain);
        let taints = line[kept.len()..].split_whitespace().next();
        let taints =
            taints.filter(|word| word.starts_with('(') && word.ends_with(')') && is_plain(word));
        module_matters(line.split(' ').next().unwrap_or(""))
            .then(|| [kept, taints.map_or("", |_| " "), taints.unwrap_or("")].concat())
            .filter(|line| !line.is_empty())
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
        if is_plain(path) && module_matters(file.split('.').next().unwrap_or(file)) {
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
        let status = "Package: rdma-core\nStatus: install ok installed\nMaintainer: A <a@b.c>\nVersion: 44.0-2\nDescription: x\n y\n\nPackage: secret-tool\nStatus: install ok installed\nVersion: 1\n\nPackage: librdmacm1\nVersion: 44.0-2\n";
        let kept = dpkg_status(status).unwrap();
        assert_eq!(
            kept,
            "Package: rdma-core\nStatus: install ok installed\nVersion: 44.0-2\n\nPackage: librdmacm1\nVersion: 44.0-2\n\n"
        );
        assert_eq!(dpkg_status(&kept).unwrap(), kept);
    }

    #[test]
    fn stanzas_without_empty_lines_are_kept_once() {
        let status = "Package: rdma-core\nVersion: 44.0-2\r\r\nPackage: secret-tool\nVersion: 1\n";
        let kept = dpkg_status(&status.repeat(2)).unwrap();
        assert_eq!(kept, "Package: rdma-core\nVersion: 44.0-2\n\n".repeat(2));
        assert_eq!(dpkg_status(&kept).unwrap(), kept);
    }

    #[test]
    fn module_paths_keep_where_a_module_comes_from() {
        let text = "updates/dkms/mlx5_core.ko: a.ko b.ko\nkernel/fs/ext4/ext4.ko:\n";
        assert_eq!(module_paths(text).unwrap(), "updates/dkms/mlx5_core.ko:\n");
    }
}
