//! Which interfaces carry RDMA.

use std::collections::BTreeSet;

use crosstie_facts::FileTree;

/// The interfaces of every RDMA device: those of its PCI function, the one that Soft-RoCE rides on, and the one that
/// each port's first GID belongs to (a bond, where there is one).
pub fn fabric_interfaces(source: &impl FileTree) -> Vec<String> {
    let class = "sys/class/infiniband";
    let mut interfaces = BTreeSet::new();
    for device in source.list(class).unwrap_or_default() {
        let device = format!("{class}/{device}");
        interfaces.extend(
            source
                .list(&format!("{device}/device/net"))
                .unwrap_or_default(),
        );
        interfaces.extend(line(source, &format!("{device}/parent")));
        for port in source.list(&format!("{device}/ports")).unwrap_or_default() {
            let first = format!("{device}/ports/{port}/gid_attrs/ndevs/0");
            interfaces.extend(line(source, &first));
        }
    }
    interfaces.into_iter().collect()
}

fn line(source: &impl FileTree, path: &str) -> Option<String> {
    let text = String::from_utf8(source.read(path).ok()?).ok()?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use crosstie_facts::{CaptureEntry, RawCapture};

    use super::*;

    #[test]
    fn hardware_software_and_bonds_are_found() {
        let mut raw = RawCapture::default();
        let mut file = |path: &str, text: &str| {
            raw.insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
        };
        file(
            "sys/class/infiniband/mlx5_0/device/net/enp1s0f0np0/mtu",
            "9000",
        );
        file(
            "sys/class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0",
            "bond0\n",
        );
        file("sys/class/infiniband/rxe0/parent", "eth1\n");
        file(
            "sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0",
            "eth1\n",
        );
        file("sys/class/net/eth0/mtu", "1500");
        assert_eq!(fabric_interfaces(&raw), ["bond0", "enp1s0f0np0", "eth1"]);
    }
}
