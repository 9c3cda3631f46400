//! Stand-ins for RDMA ports: `/sys/class/infiniband` as Soft-RoCE's kernel driver lays it out, over the real interfaces of a
//! node. Enough to find, plan and judge ports by; nothing answers verbs.

use std::fs;
use std::path::Path;

use crate::address;
use crate::profile::{LabNode, LabProfile};

const ACTIVE: (&str, &str) = ("4: ACTIVE\n", "5: LinkUp\n");
const DOWN: (&str, &str) = ("1: DOWN\n", "3: Disabled\n");

fn class(directory: &Path, node: &str) -> std::path::PathBuf {
    directory.join(format!("{node}.rdma"))
}

pub(crate) fn make(directory: &Path, profile: &LabProfile, node: &LabNode) -> std::io::Result<()> {
    let class = class(directory, &node.name);
    fs::create_dir_all(&class)?;
    for (_, nic) in node.nics() {
        let Some(rdma) = &nic.rdma else { continue };
        let device = class.join(rdma);
        let port = device.join("ports/1");
        for part in [
            "gids",
            "gid_attrs/types",
            "gid_attrs/ndevs",
            "counters",
            "hw_counters",
        ] {
            fs::create_dir_all(port.join(part))?;
        }
        let guid = guid(&address::mac(&profile.name, &node.name, nic.mac_offset));
        let files = [
            (device.join("node_guid"), guid.clone()),
            (device.join("sys_image_guid"), guid.clone()),
            (device.join("node_type"), "1: CA".to_owned()),
            (device.join("parent"), nic.netdev.clone()),
            (port.join("link_layer"), "Ethernet".to_owned()),
            (port.join("rate"), "2.5 Gb/sec (1X SDR)".to_owned()),
            (port.join("lid"), "0x0".to_owned()),
            (port.join("sm_lid"), "0x0".to_owned()),
            (port.join("gids/0"), format!("fe80:0000:0000:0000:{guid}")),
            (port.join("gid_attrs/types/0"), "RoCE v2".to_owned()),
            (port.join("gid_attrs/ndevs/0"), nic.netdev.clone()),
        ];
        for (path, text) in files {
            fs::write(path, text + "\n")?;
        }
        set_state(&port, DOWN)?;
    }
    Ok(())
}

/// As the kernel would, once a port's carrier has changed.
pub(crate) fn set_states(
    directory: &Path,
    node: &LabNode,
    has_light: impl Fn(&str) -> bool,
) -> std::io::Result<()> {
    for (_, nic) in node.nics() {
        let Some(rdma) = &nic.rdma else { continue };
        let port = class(directory, &node.name).join(rdma).join("ports/1");
        let state = if has_light(&nic.netdev) { ACTIVE } else { DOWN };
        set_state(&port, state)?;
    }
    Ok(())
}

fn set_state(port: &Path, (state, physical): (&str, &str)) -> std::io::Result<()> {
    fs::write(port.join("state"), state)?;
    fs::write(port.join("phys_state"), physical)
}

/// `02:11:22:33:44:55` → `0011:22ff:fe33:4455`, as RFC 4291 makes an interface's identifier of its MAC.
fn guid(mac: &str) -> String {
    let mut bytes: Vec<u8> = mac
        .split(':')
        .filter_map(|byte| u8::from_str_radix(byte, 16).ok())
        .collect();
    if let Some(first) = bytes.first_mut() {
        *first ^= 2;
    }
    bytes.splice(3..3, [0xff, 0xfe]);
    let word = |pair: &[u8]| match pair {
        [high, low] => format!("{high:02x}{low:02x}"),
        _ => String::new(),
    };
    bytes.chunks(2).map(word).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_is_made_of_the_mac() {
        assert_eq!(guid("02:11:22:33:44:55"), "0011:22ff:fe33:4455");
    }
}
